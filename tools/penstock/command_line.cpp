#include "tools/penstock/command_line.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "tools/penstock/bench_submit.h"
#include "tools/penstock/command_options.h"

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
  command
      ->add_option("NAME", line.bench_name,
                   "allocator: time and loss of its solves and rounding; "
                   "analyze: what-if against real runs; "
                   "cache: the cache of samples beside the page cache; "
                   "ctld: the controller under a storm of jobs; "
                   "exchange: ways to exchange gradients over MPI; "
                   "lmdb: the LMDB reader over MPI beside stock LMDB; "
                   "loader: the loader beside others; "
                   "memory: training within less memory; "
                   "staging: jobs that prepare batches together; "
                   "submit: what the job submit plugin costs")
      ->required()
      ->check(
          CLI::IsMember({"allocator", "analyze", "cache", "ctld", "exchange",
                         "lmdb", "loader", "memory", "staging", "submit"}));
  BenchAnalyzeArguments& analyze = line.bench_analyze;
  command->add_option("--jobs", analyze.jobs, "analyze: which kinds of job")
      ->delimiter(',')
      ->check(CLI::IsMember(analyze.jobs))
      ->capture_default_str();
  command
      ->add_option(
          "--rounds", line.bench_rounds,
          "analyze: of real runs [3]; cache: epochs of each figure [5]; "
          "exchange: of all ways [11]; lmdb: pairs of runs [11]; "
          "loader: of all loaders [7]; memory: of all ways to train [5]; "
          "staging: of all jobs [5]")
      ->check(CLI::Range(1, 100));
  command
      ->add_option("--budget", analyze.budget_s,
                   "analyze: seconds of each analysis")
      ->check(CLI::Range(10, 3600))
      ->capture_default_str();
  command
      ->add_option("--peers", line.bench_loader.peers_dir,
                   "loader: the directory that tests/peers made")
      ->check(CLI::ExistingDirectory);
  BenchExchangeArguments& exchange = line.bench_exchange;
  command->add_option("--parts", exchange.parts, "exchange: what is measured")
      ->delimiter(',')
      ->check(CLI::IsMember(exchange.parts))
      ->capture_default_str();
  command
      ->add_option(
          "--calibrate", exchange.costs_dir,
          "exchange: only fit the cost model, and write what messages, "
          "bytes, sums and selections cost to a directory "
          "[exchange-costs]")
      ->expected(0, 1);
  BenchCtldArguments& ctld = line.bench_ctld;
  command->add_option("--agents", ctld.agents, "ctld: nodes that are played")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command->add_option("--rate", ctld.jobs_per_s, "ctld: jobs started a second")
      ->check(CLI::Range(0.1, 10000.0))
      ->capture_default_str();
  command->add_option("--seconds", ctld.seconds, "ctld: how long")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--config", ctld.config_file,
                      "ctld: penstock.conf of a controller that runs");
  command->add_option("--sample", ctld.sampled,
                      "ctld: socket of a penstockd that it grants to");
  command
      ->add_option("--kills", ctld.kills,
                   "ctld: kill it so often meanwhile, and start it again")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--count", line.bench_count,
                   "submit: submissions to each of the two Slurms")
      ->check(CLI::Range(30, 100000))
      ->capture_default_str();
  command->add_option("--json", line.bench_json, "also write the figures here");
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

Status run_bench_line(const CommandLine& line, Terminal& terminal) {
  if (line.bench_name == "analyze") {
    BenchAnalyzeArguments arguments = line.bench_analyze;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_analyze(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "cache") {
    BenchCacheArguments arguments = line.bench_cache;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_cache(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "exchange") {
    BenchExchangeArguments arguments = line.bench_exchange;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    arguments.calibrates =
        line.app.get_subcommand("bench")->count("--calibrate") > 0;
    return run_bench_exchange(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "staging") {
    BenchStagingArguments arguments = line.bench_staging;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_staging(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "ctld") {
    return run_bench_ctld(line.bench_ctld, line.bench_json, terminal);
  }
  if (line.bench_name == "lmdb") {
    BenchLmdbArguments arguments = line.bench_lmdb;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_lmdb(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "loader") {
    BenchLoaderArguments arguments = line.bench_loader;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_loader(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "memory") {
    BenchMemoryArguments arguments = line.bench_memory;
    arguments.rounds = line.bench_rounds.value_or(arguments.rounds);
    return run_bench_memory(arguments, line.bench_json, terminal);
  }
  if (line.bench_name == "submit") {
    return run_bench_submit(line.bench_count, line.bench_json, terminal);
  }
  return run_bench_allocator(line.bench_json, terminal);
}

Status run_chosen(const CommandLine& line, Terminal& terminal,
                  std::ostream& errors) {
  const CLI::App& app = line.app;
  if (app.got_subcommand("check-config")) {
    return run_check_config(line.config_file, terminal);
  }
  if (app.got_subcommand("bench")) {
    return run_bench_line(line, terminal);
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

int run_guarded(int argc, const char* const* argv, Terminal& terminal,
                std::ostream& errors) {
  CommandLine line;
  add_all(line);
  if (argc > 1 && std::string_view(argv[1]) == "analyze") {
    argc = take_command(argc, argv, line.analyze.command);
  }
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = line.app.exit(error, terminal.out, errors);
    return code == 0 ? kExitOk : kExitUsage;
  }
  if (line.app.get_subcommands().empty()) {
    errors << "penstock: a subcommand is required; see penstock --help\n";
    return kExitUsage;
  }
  int code = kExitOk;  // exit code of a successful command
  Status status = Done{};
  if (line.app.got_subcommand("doctor")) {
    code = run_doctor(line.doctor, terminal);
  } else {
    status = run_chosen(line, terminal, errors);
  }
  terminal.out.flush();
  if (status && !terminal.out) {
    status = Error{Code::kIo, 0, "cannot write the output"};
  }
  if (status) return code;
  errors << "penstock: " << status.error().message << "\n";
  return exit_code(status.error().code);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Terminal& terminal,
                     std::ostream& errors) {
  try {
    return run_guarded(argc, argv, terminal, errors);
  } catch (const std::exception& error) {  // out of memory, most likely
    errors << "penstock: " << error.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace penstock
