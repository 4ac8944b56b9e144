#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tools/penstock/command.h"

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

int run_guarded(const Command& command, int argc, const char* const* argv,
                Invocation& invocation) {
  CLI::App app{command.summary, command.name};
  const Run run = command.add(&app);
  Terminal& terminal = invocation.terminal;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error, terminal.out, invocation.errors);
    return code == 0 ? kExitOk : kExitUsage;
  }
  Status status = run(invocation);
  terminal.out.flush();
  const bool is_told = !status && status.error().message.empty();
  if ((status || is_told) && !terminal.out) {
    status = Error{Code::kIo, 0, "cannot write the output"};
  }
  if (status) return kExitOk;
  const Error& error = status.error();
  if (!error.message.empty()) {
    invocation.errors << "penstock: " << error.message << "\n";
  }
  return exit_code(error.code);
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

int exit_code(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kInfeasible:
      return kExitUsage;
    case Code::kNotFound:
    case Code::kPermissionDenied:
    case Code::kUnavailable:
      return kExitNoData;
    case Code::kIo:
    case Code::kLimit:
      return kExitInternal;
  }
  return kExitInternal;
}

int run_app(const Command& command, int argc, const char* const* argv,
            Invocation& invocation) {
  try {
    return run_guarded(command, argc, argv, invocation);
  } catch (const std::exception& error) {  // out of memory, most likely
    invocation.errors << "penstock: " << error.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace penstock
