// The options of command lines for SampleRules.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "penstock/loader/dataset.h"

namespace penstock {

inline void add_rule_options(CLI::App& app, SampleRules& rules) {
  using Key = SampleRules::Key;
  app.add_option_function<std::string>(
         "--image",
         [&rules](const std::string& text) {
           auto endings = parse_endings(text);
           if (!endings) {
             throw CLI::ValidationError("--image", endings.error().message);
           }
           rules.image = *std::move(endings);
         },
         "Endings of pictures, the first that a sample has: \"jpg;png\"")
      ->option_text("ENDINGS");
  app.add_option("--label", rules.label,
                 "Ending of a tar shard's labels; \"\": it has none")
      ->option_text("ENDING [cls]");
  app.add_option_function<std::string>(
         "--key",
         [&rules](const std::string& dot) {
           rules.key = dot == "last" ? Key::kLastDot : Key::kFirstDot;
         },
         "Dot of a shard's names before which a sample's key ends")
      ->check(CLI::IsMember({"first", "last"}))
      ->option_text("first|last [first]");
  app.add_flag("--allow-empty", rules.allow_empty,
               "Number folders without a picture as classes, too");
}

}  // namespace penstock
