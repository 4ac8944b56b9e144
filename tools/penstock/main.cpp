#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tools/penstock/command_line.h"

namespace {

// setlocale()'s rule: the first of these that is set and not empty.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

// https://no-color.org: any non-empty value.
bool colour_is_refused() {
  const char* value = std::getenv("NO_COLOR");
  return value && *value;
}

// 0: unknown.
int terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int main(int argc, char** argv) {
  penstock::Terminal terminal{std::cout};
  terminal.interactive = ::isatty(STDOUT_FILENO) == 1;
  terminal.style.color = terminal.interactive && !colour_is_refused();
  terminal.style.unicode = terminal.interactive && locale_is_utf8();
  if (terminal.interactive && terminal_columns() > 0) {
    terminal.style.width = terminal_columns();
  }
  return penstock::run_command_line(argc, argv, terminal, std::cerr);
}
