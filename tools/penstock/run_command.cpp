// `penstock run`: runs a command whose Python programs measure their loaders.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <ostream>

#include "tools/penstock/commands.h"

namespace penstock {
namespace {

constexpr int kExitNotFound = 127;
constexpr int kExitNotExecutable = 126;

constexpr const char* kPath = "PYTHONPATH";

std::optional<std::string> find_hook() {
  for (const char* folder :
       {PENSTOCK_BUILD "/python/hook", PENSTOCK_HOOK_DIR}) {
    const std::string file = folder + std::string("/sitecustomize.py");
    if (::access(file.c_str(), R_OK) == 0) return folder;
  }
  return std::nullopt;
}

// The hook comes first, because Python runs the first sitecustomize only.
void put_hook_on_path(std::ostream& errors) {
  std::optional<std::string> path = find_hook();
  if (!path) {
    errors << "penstock: run: " << PENSTOCK_HOOK_DIR
           << "/sitecustomize.py cannot be read, so loaders are not measured: "
              "install Penstock's client again\n";
    return;
  }
  const char* before = std::getenv(kPath);
  if (before && *before) *path += std::string(":") + before;
  ::setenv(kPath, path->c_str(), 1);
}

// Does not return if there is a command: as with a shell, 127 and 126 say that
// it cannot be run.
Status run_command(Invocation& invocation) {
  if (invocation.command.empty()) {
    return invalid("run: a command is missing: penstock run -- COMMAND");
  }
  put_hook_on_path(invocation.errors);
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
