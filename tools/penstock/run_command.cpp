// `penstock run`: runs a command whose Python programs measure their loaders.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <ostream>

#include "tools/penstock/commands.h"
#include "tools/penstock/python_hook.h"

namespace penstock {
namespace {

constexpr int kExitNotFound = 127;
constexpr int kExitNotExecutable = 126;

// Does not return if there is a command: as with a shell, 127 and 126 say that
// it cannot be run.
Status run_command(Invocation& invocation) {
  if (invocation.command.empty()) {
    return invalid("run: a command is missing: penstock run -- COMMAND");
  }
  if (const auto path = python_path_with_hook()) {
    ::setenv(kPythonPath, path->c_str(), 1);
  } else {
    invocation.errors << "penstock: run: " << path.error().message << "\n";
  }
  std::vector<char*> argv;
  for (std::string& word : invocation.command) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const Error error = system_error(errno, invocation.command[0]);
  invocation.errors << "penstock: run: " << error.message << std::endl;
  std::_Exit(error.saved_errno == ENOENT ? kExitNotFound : kExitNotExecutable);
}

}  // namespace

Run add_run(CLI::App* command) {
  command->footer("Usage: penstock run -- COMMAND...");
  return run_command;
}

}  // namespace penstock
