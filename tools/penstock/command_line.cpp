#include "tools/penstock/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>

#include "tools/penstock/commands.h"

namespace penstock {
namespace {

constexpr const char* kVersion =
    "penstock " PENSTOCK_VERSION " (built for Slurm " PENSTOCK_SLURM_VERSION
    ")";

constexpr Command kCommands[] = {
    {"report", "Show a job's grants and where its time went", add_report},
    {"top", "Show managed jobs, updated every second", add_top},
    {"jobs", "Show the cluster's running managed jobs", add_jobs},
    {"nodes", "Show the cluster's nodes and storage pools", add_nodes},
    {"history", "Show the measurements of earlier jobs", add_history},
    {"policy", "Show who holds GPUs and cores idle, and mail these users",
     add_policy},
    {"check-config", "Check a penstock.conf and print its settings",
     add_check_config},
    {"doctor", "Check this node for everything that Penstock needs",
     add_doctor},
    {"off",
     "Stop managing this node and return all CPUs to their jobs (root only)",
     add_off},
    {"on", "Manage this node again (root only)", add_on},
    {"advise", "Say what a job should ask of Slurm, before it is submitted",
     add_advise, true},
    {"analyze", "Measure where a training command's time goes", add_analyze,
     true},
    {"run", "Run a command whose Python programs measure their loaders",
     add_run, true},
    {"predict", "Predict a job's ceiling and demand", add_predict},
    {"what-if", "Predict a job's rate with more cores, cache or bandwidth",
     add_what_if},
    {"publish", "Publish the demand table for slurmctld's plugin", add_publish},
    {"simulate", "Simulate the allocator on a trace of jobs", add_simulate},
    {"lmdb", "Index, verify, measure and create LMDB databases", add_lmdb},
    {"dataset", "Show what the loader finds in data, and leaves out",
     add_dataset},
    {"cache", "List, fill and remove this node's sample caches", add_cache},
    {"bench", "Run a benchmark of Penstock itself", add_bench},
};

Run add_commands(CLI::App* app) {
  app->require_subcommand(0, 1);  // an error then names a misspelt one
  app->set_version_flag("--version", kVersion);
  std::vector<Run> runs;
  for (const Command& it : kCommands) {
    runs.push_back(it.add(app->add_subcommand(it.name, it.summary)));
  }
  return [app, runs](Invocation& invocation) -> Status {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (app->got_subcommand(kCommands[i].name)) return runs[i](invocation);
    }
    return invalid("a subcommand is required; see penstock --help");
  };
}

// Everything after "--" is another program's command line, whatever it looks
// like. Returns the number of words before it.
int take_command(int argc, const char* const* argv,
                 std::vector<std::string>& command) {
  const char* const* end = argv + argc;
  const char* const* mark = std::find_if(argv, end, [](const char* word) {
    return std::string_view(word) == "--";
  });
  if (mark != end) command.assign(mark + 1, end);
  return int(mark - argv);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Terminal& terminal,
                     std::ostream& errors) {
  Invocation invocation{terminal, errors, {}};
  const bool takes_command =
      argc > 1 && std::any_of(std::begin(kCommands), std::end(kCommands),
                              [argv](const Command& it) {
                                return it.takes_command &&
                                       std::string_view(argv[1]) == it.name;
                              });
  if (takes_command) argc = take_command(argc, argv, invocation.command);
  return run_app({"penstock",
                  "Gives idle CPUs and storage bandwidth to the data loaders "
                  "of Slurm jobs.",
                  add_commands},
                 argc, argv, invocation);
}

}  // namespace penstock
