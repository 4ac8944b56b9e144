// Checks that the manual page of a subcommand names its options.
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
  const std::string page = text_of("docs/man/penstock-" + page_name + ".1");
  const std::regex option("--([a-z-]+)");
  std::sregex_iterator end;
  for (std::sregex_iterator it(help.begin(), help.end(), option); it != end;
       ++it) {
    INFO(command << ' ' << it->str());
    if (it->str(1) == "help") continue;  // penstock(1) has it
    CHECK(page.find("Fl -" + it->str(1)) != std::string::npos);
  }
}

}  // namespace penstock
