// Whether the manual page and the completion of a subcommand know its options.
#pragma once

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/unit/catch.h"

namespace penstock {

inline std::string text_of(const std::string& path) {
  std::ifstream file(std::string(PENSTOCK_SOURCE) + "/" + path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// help: of `penstock COMMAND`, whose page is penstock-PAGE(1)
inline void check_documented(const std::string& command,
                             const std::string& page_name,
                             const std::string& help) {
  const std::string completion = text_of("tools/bash_completion");
  const std::string page = text_of("docs/man/penstock-" + page_name + ".1");
  const std::regex option("--([a-z-]+)");
  size_t at = completion.find("\n    " + command + ")");
  REQUIRE(at != std::string::npos);
  std::string words = completion.substr(at, completion.find(";;", at) - at);
  std::sregex_iterator end;
  for (std::sregex_iterator it(help.begin(), help.end(), option); it != end;
       ++it) {
    INFO(command << ' ' << it->str());
    CHECK(words.find(it->str()) != std::string::npos);
    if (it->str(1) == "help") continue;  // penstock(1) has it
    CHECK(page.find("Fl -" + it->str(1)) != std::string::npos);
  }
}

}  // namespace penstock
