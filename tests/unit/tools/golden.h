// Text against a golden file. PENSTOCK_UPDATE_GOLDEN=1 rewrites it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/catch.h"

namespace penstock {

inline std::string golden(const std::string& path, const std::string& now) {
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN")) std::ofstream(path) << now;
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Checks for printable ASCII, lines within the width, and a final newline.
inline void check_page(const std::string& text, size_t width = 80) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= width);
    CHECK(std::all_of(line.begin(), line.end(),
                      [](unsigned char c) { return c >= 0x20 && c < 0x7f; }));
  }
  CHECK(text.ends_with('\n'));
}

}  // namespace penstock
