#include "tools/penstock/bench_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>

#include "tools/penstock/commands.h"

namespace penstock {

Status exec_bench(const std::vector<std::string>& words) {
  const std::string program = PENSTOCK_BUILD "/bin/penstock-bench";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  Error error = system_error(errno, program);
  error.message += "; benchmarks run from a build tree of Penstock's sources";
  return error;
}

Run add_bench(CLI::App* command) {
  // penstock-bench has the options and the help.
  command->set_help_flag();
  command->prefix_command();
  return [command](Invocation&) { return exec_bench(command->remaining()); };
}

}  // namespace penstock
