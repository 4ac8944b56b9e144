#include "tools/penstock/run_app.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace penstock {
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

int run_guarded(CLI::App& app, int argc, const char* const* argv,
                const std::function<Result<int>()>& run, Terminal& terminal,
                std::ostream& errors) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error, terminal.out, errors);
    return code == 0 ? kExitOk : kExitUsage;
  }
  Result<int> code = run();
  terminal.out.flush();
  if (code && !terminal.out) {
    code = Error{Code::kIo, 0, "cannot write the output"};
  }
  if (code) return *code;
  errors << "penstock: " << code.error().message << "\n";
  return exit_code(code.error().code);
}

}  // namespace

Terminal standard_terminal() {
  Terminal terminal{std::cout};
  terminal.interactive = ::isatty(STDOUT_FILENO) == 1;
  terminal.style.color = terminal.interactive && !colour_is_refused();
  terminal.style.unicode = terminal.interactive && locale_is_utf8();
  if (terminal.interactive && terminal_columns() > 0) {
    terminal.style.width = terminal_columns();
  }
  return terminal;
}

int run_app(CLI::App& app, int argc, const char* const* argv,
            const std::function<Result<int>()>& run, Terminal& terminal,
            std::ostream& errors) {
  try {
    return run_guarded(app, argc, argv, run, terminal, errors);
  } catch (const std::exception& error) {  // out of memory, most likely
    errors << "penstock: " << error.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace penstock
