#include "tools/penstock/command_line.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "tools/penstock/bench_command.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/run_app.h"

namespace penstock {
namespace {

constexpr const char* kVersion =
    "penstock " PENSTOCK_VERSION " (built for Slurm " PENSTOCK_SLURM_VERSION
    ")";

void add_check_config(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "check-config", "Check a penstock.conf and print what it sets");
  command->add_option("FILE", line.config_file, "the file")->required();
}

void add_doctor(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "doctor", "Check all that Penstock needs on this node");
  command->add_flag("--json", line.doctor.json, "print JSON");
  command->add_option("--config", line.doctor.config_path,
                      std::string("configuration file [") + kConfigPath + "]");
}

void add_switch(CommandLine& line) {
  add_site(line.app.add_subcommand(
               "off", "Give all back to Slurm on this node (root only)"),
           line.site, true);
  add_site(line.app.add_subcommand(
               "on", "Let Penstock work on this node again (root only)"),
           line.site, true);
}

void add_publish(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "publish", "Publish what jobs need, for slurmctld's plugin");
  add_site(command, line.site, false);
}

void add_bench(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("bench", "Measure parts of Penstock itself");
  // penstock-bench has the options and the help.
  command->set_help_flag();
  command->prefix_command();
}

// --json takes a file name only with --evaluate. Otherwise the next word is the
// profile.
Status run_predict_line(const CommandLine& line, const Config& config,
                        Terminal& terminal) {
  PredictArguments arguments = line.predict;
  const CLI::App* command = line.app.get_subcommand("predict");
  arguments.json = command->count("--json") > 0;
  std::string& file = arguments.tables.json_file;
  if (!arguments.tables.evaluate.empty()) {
    if (arguments.json && file.empty()) {
      return invalid("--json: with --evaluate it needs a FILE");
    }
  } else if (!file.empty()) {
    if (!arguments.profile.empty() || !arguments.job.model.empty()) {
      return invalid("--json: takes a FILE with --evaluate only");
    }
    arguments.profile = std::move(file);
    file.clear();
  }
  return run_predict(arguments, config, terminal);
}

Status run_chosen(const CommandLine& line, Terminal& terminal,
                  std::ostream& errors) {
  const CLI::App& app = line.app;
  if (app.got_subcommand("check-config")) {
    return run_check_config(line.config_file, terminal);
  }
  if (app.got_subcommand("bench")) {
    return exec_bench(app.get_subcommand("bench")->remaining());
  }
  if (app.got_subcommand("analyze")) {
    AnalyzeArguments arguments = line.analyze;
    Status whole = finish_analyze(line, arguments);
    return whole ? run_analyze(arguments, terminal) : whole;
  }
  if (app.got_subcommand("simulate")) {
    return run_simulate(line.simulate, terminal);
  }
  if (app.got_subcommand("cache")) {
    return run_cache_line(line, terminal, errors);
  }
  if (app.got_subcommand("lmdb")) return run_lmdb_line(line, terminal);
  Result<Config> config = site_config(line.site);
  if (!config && app.got_subcommand("off")) {
    config.error().message +=
        "; `systemctl stop penstockd` gives all back to Slurm as well";
  }
  if (!config) return std::move(config).error();
  if (app.got_subcommand("report")) {
    return run_report_line(line, *config, terminal);
  }
  if (app.got_subcommand("publish")) {
    return run_publish(*config, terminal);
  }
  if (app.got_subcommand("top")) return run_top(line.top, *config, terminal);
  if (app.got_subcommand("off")) return run_switch(true, *config, terminal);
  if (app.got_subcommand("on")) return run_switch(false, *config, terminal);
  if (app.got_subcommand("jobs")) {
    return run_jobs(line.jobs, *config, terminal);
  }
  if (app.got_subcommand("nodes")) {
    return run_nodes(line.nodes, *config, terminal);
  }
  if (app.got_subcommand("history")) {
    return run_history(line.history, *config, terminal);
  }
  if (app.got_subcommand("what-if")) {
    return run_what_if(line.what_if, *config, terminal);
  }
  return run_predict_line(line, *config, terminal);
}

void add_all(CommandLine& line) {
  line.app.name("penstock");
  line.app.require_subcommand(0, 1);  // an error then names a misspelt one
  line.app.set_version_flag("--version", kVersion);
  add_report(line);
  add_top(line);
  add_jobs(line);
  add_nodes(line);
  add_history(line);
  add_check_config(line);
  add_doctor(line);
  add_switch(line);
  add_analyze(line);
  add_predict(line);
  add_what_if(line);
  add_publish(line);
  add_simulate(line);
  add_lmdb(line);
  add_cache(line);
  add_bench(line);
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

int run_command(int argc, const char* const* argv, Terminal& terminal,
                std::ostream& errors) {
  CommandLine line;
  add_all(line);
  if (argc > 1 && std::string_view(argv[1]) == "analyze") {
    argc = take_command(argc, argv, line.analyze.command);
  }
  const auto run = [&]() -> Result<int> {
    if (line.app.get_subcommands().empty()) {
      return invalid("a subcommand is required; see penstock --help");
    }
    if (line.app.got_subcommand("doctor")) {
      return run_doctor(line.doctor, terminal);
    }
    Status status = run_chosen(line, terminal, errors);
    if (!status) return std::move(status).error();
    return kExitOk;
  };
  return run_app(line.app, argc, argv, run, terminal, errors);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Terminal& terminal,
                     std::ostream& errors) {
  return run_command(argc, argv, terminal, errors);
}

}  // namespace penstock
