// A command's output, messages and exit code.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tools/penstock/command_line.h"

namespace penstock {

struct Ran {
  explicit Ran(std::vector<std::string> words) {
    words.insert(words.begin(), "penstock");
    std::vector<const char*> argv;
    argv.reserve(words.size());
    for (const std::string& word : words) argv.push_back(word.c_str());
    Terminal terminal{out_stream};
    code = run_command_line(static_cast<int>(argv.size()), argv.data(),
                            terminal, error_stream);
    out = out_stream.str();
    errors = error_stream.str();
  }

  bool said(const std::string& text) const {
    return errors.find(text) != std::string::npos;
  }

  std::ostringstream out_stream, error_stream;
  int code = -1;
  std::string out, errors;
};

}  // namespace penstock
