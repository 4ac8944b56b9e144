#include "tools/penstock/command_line.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "tools/penstock/bench_ctld.h"
#include "tools/penstock/bench_submit.h"

namespace penstock {
namespace {

constexpr const char* kVersion =
    "penstock " PENSTOCK_VERSION " (built for Slurm " PENSTOCK_SLURM_VERSION
    ")";

struct CommandLine {
  CLI::App app{"Feeds the loaders of deep-learning jobs on Slurm clusters."};
  Site site;
  ReportArguments report;
  TopArguments top;
  DoctorArguments doctor;
  PredictArguments predict;
  ControllerArguments jobs, nodes, history;
  SimulateArguments simulate;
  std::string config_file;
  std::string bench_name;
  std::string bench_json;
  BenchCtldArguments bench_ctld;
  int bench_count = 1000;
};

void add_site(CLI::App* command, Site& site, bool asks_daemon) {
  command->add_option("--config", site.config_path,
                      std::string("configuration file [") + kConfigPath + "]");
  if (!asks_daemon) return;
  command->add_option("--socket", site.socket_path,
                      "penstockd's socket [SocketPath]");
}

void add_report(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "report", "Show what a job was granted and where its time went");
  command->add_option("JOBID", line.report.job_id, "the job's number")
      ->required()
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_flag("--json", line.report.json, "print JSON");
  command->add_flag("--follow", line.report.follow,
                    "show it anew every second until the job ends");
  command->add_option("--dir", line.site.report_dir,
                      "where finished jobs' reports are [ReportDir]");
  add_site(command, line.site, true);
}

void add_top(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("top", "Show this node's managed jobs, live");
  command->add_flag("--once", line.top.once, "print one view and exit");
  command->add_flag("--json", line.top.json, "print JSON once and exit");
  add_site(command, line.site, true);
}

void add_controller(CLI::App* command, ControllerArguments& it, Site& site) {
  command->add_flag("--json", it.json, "print JSON");
  command->add_option("--controller", it.controller,
                      "HOST:PORT of penstockctld [Controller]");
  add_site(command, site, false);
}

void add_job_choice(CLI::App* command, ControllerArguments& it) {
  command->add_option("JOBID", it.job_id, "only the job of that number")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_option("--user", it.user, "only that user's jobs (root only)");
}

void add_jobs(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "jobs", "Show the cluster's running managed jobs");
  add_job_choice(command, line.jobs);
  command->add_option("--node", line.jobs.node, "only jobs on that node");
  add_controller(command, line.jobs, line.site);
}

void add_nodes(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "nodes", "Show the cluster's nodes and storage pools");
  command->add_option("--node", line.nodes.node, "only that node");
  add_controller(command, line.nodes, line.site);
}

void add_history(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("history", "Show what earlier jobs measured");
  add_job_choice(command, line.history);
  command
      ->add_option("--days", line.history.days,
                   "only jobs of the last so many days")
      ->check(CLI::Range(0.001, 36500.0));
  line.history.limit = 50;
  command->add_option("--limit", line.history.limit, "the latest so many")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  add_controller(command, line.history, line.site);
}

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

void add_costs(CLI::App* command, DescribeArguments& it) {
  const CLI::Range positive(0.0, 1e9);
  command
      ->add_option("--gflops", it.fwd_gflops,
                   "forward GFLOPs per sample, 2 x multiply-adds")
      ->check(positive);
  command->add_option("--params", it.params_m, "parameters, in millions")
      ->check(positive);
  command
      ->add_option("--activations", it.activations_m,
                   "layer outputs per sample, in millions")
      ->check(positive);
  command
      ->add_option("--peak-tflops", it.peak_tflops,
                   "peak of a GPU type that --list-gpus lacks")
      ->check(positive);
  command
      ->add_option("--memory-bandwidth", it.memory_gbs,
                   "and its memory bandwidth in GB/s")
      ->check(positive);
}

void add_described_job(CLI::App* command, DescribeArguments& it) {
  command->add_option("--model", it.model, "predict a job of this model");
  command->add_option("--gpu", it.gpu, "on this GPU type");
  command->add_option("--gpus", it.gpus, "GPUs over all nodes")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--batch", it.batch_per_gpu, "samples per GPU and step")
      ->check(CLI::Range(1.0, 1e9));
  command->add_option("--precision", it.precision,
                      "FP32, TF32, AMP, BF16, FP16 or FP8");
  command
      ->add_option("--framework", it.framework,
                   "pytorch, tensorflow, mxnet or paddle")
      ->check(CLI::IsMember({"pytorch", "tensorflow", "mxnet", "paddle"}));
  command->add_option("--layout", it.layout, "memory layout, nchw or nhwc")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  command->add_flag("--compiled", it.compiled, "a graph compiler is used");
  command->add_option("--task", it.task, "such as image_classification");
  command->add_option("--family", it.family, "such as resnet");
  add_costs(command, it);
  command->add_option("--interconnect", it.interconnect,
                      "bandwidth between nodes, such as 3G");
  command->add_option("--bytes-per-sample", it.bytes_per_sample,
                      "stored bytes of a sample, such as 110K");
  command->add_option("--cpu-class", it.cpu_class,
                      "what preparing a sample is: raw or jpeg");
  command->add_option("--measured", it.measured,
                      "BATCH:RATE, a measured point of the job (repeatable)");
  command->add_option("--parameters", it.parameters,
                      "what --calibrate wrote, instead of the built-in");
}

void add_tables(CLI::App* command, PredictTables& it) {
  command->add_option("--calibrate", it.calibrate,
                      "learn from a table of measured rates, CSV");
  command->add_option("-o,--output", it.output,
                      "write what was learned here [standard output]");
  command->add_option("--evaluate", it.evaluate,
                      "score a table: left out of --calibrate's, or in parts");
}

void add_predict(CommandLine& line) {
  PredictArguments& it = line.predict;
  CLI::App* command =
      line.app.add_subcommand("predict", "Predict a job's ceiling and demand");
  command->add_option("PROFILE", it.profile,
                      "a profile's name, or a file's path (with a '/')");
  command->add_option("--cores", it.cores,
                      "predict the rate with so many loader cores");
  command->add_option("--bandwidth", it.bandwidth,
                      "and so much storage bandwidth, such as 200M");
  add_described_job(command, it.job);
  add_tables(command, it.tables);
  command->add_flag("--list-models", it.list_models, "the built-in models");
  command->add_flag("--list-gpus", it.list_gpus, "the built-in GPU types");
  command
      ->add_option("--json", it.tables.json_file,
                   "print JSON; with --evaluate FILE, write the figures there")
      ->expected(0, 1);
  add_site(command, line.site, false);
}

void add_publish(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "publish", "Publish what jobs need, for slurmctld's plugin");
  add_site(command, line.site, false);
}

void add_cluster_shape(CLI::App* command, SimulateArguments& it) {
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--gpus-per-node", it.gpus_per_node, "GPUs of a node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--cores-per-node", it.cores_per_node, "its loader cores")
      ->check(CLI::Range(0.001, 4096.0))
      ->capture_default_str();
  command
      ->add_option("--memory-per-node", it.memory_gb_per_node,
                   "its memory in GB, for greedy and tune")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

void add_simulate(CommandLine& line) {
  SimulateArguments& it = line.simulate;
  CLI::App* command = line.app.add_subcommand(
      "simulate", "Run a trace of jobs through the allocator");
  command->add_option("--trace", it.trace, "Synergy's or Muri's trace, CSV")
      ->required();
  command->add_option("--profiles", it.profiles,
                      "Synergy's profiles, JSON, for its traces");
  add_cluster_shape(command, it);
  command
      ->add_option("--round", it.round_s,
                   "seconds after which all jobs are placed anew; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--placement", it.placement, "pack or spread")
      ->check(CLI::IsMember({"pack", "spread"}))
      ->capture_default_str();
  command->add_option("--policy", it.policy, "who gets which rate")
      ->check(CLI::IsMember({"even", "proportional-to-GPU", "greedy", "tune",
                             "penstock", "penstock-fair", "penstock-maxmin"}))
      ->capture_default_str();
  command->add_option("--order", it.order, "fifo or srtf")
      ->check(CLI::IsMember({"fifo", "srtf"}))
      ->capture_default_str();
  command
      ->add_option("--core-scale", it.core_scale,
                   "Muri: cores that load at its resource_time_0")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  command->add_option("--without", it.left_out_models, "leave a model out")
      ->delimiter(',');
  command->add_option("--max-jobs", it.max_jobs, "the first so many; 0: all");
  command
      ->add_option("--prediction-error", it.prediction_error,
                   "cores are predicted wrong by up to this factor")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  command->add_option("--seed", it.seed, "of the errors");
  command->add_option("--json", it.json_file, "also write the figures here");
  command->add_option("--svg", it.svg_file, "draw utilisation over time here");
}

void add_bench(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("bench", "Measure parts of Penstock itself");
  command
      ->add_option("NAME", line.bench_name,
                   "allocator: time and loss of its solves and rounding; "
                   "ctld: the controller under a storm of jobs; "
                   "submit: what the job submit plugin costs")
      ->required()
      ->check(CLI::IsMember({"allocator", "ctld", "submit"}));
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

// --json takes a file's name with --evaluate only: what follows it otherwise
// is the profile.
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

Status run_chosen(const CommandLine& line, Terminal& terminal) {
  const CLI::App& app = line.app;
  if (app.got_subcommand("check-config")) {
    return run_check_config(line.config_file, terminal);
  }
  if (app.got_subcommand("bench")) {
    if (line.bench_name == "ctld") {
      return run_bench_ctld(line.bench_ctld, line.bench_json, terminal);
    }
    if (line.bench_name == "submit") {
      return run_bench_submit(line.bench_count, line.bench_json, terminal);
    }
    return run_bench_allocator(line.bench_json, terminal);
  }
  if (app.got_subcommand("simulate")) {
    return run_simulate(line.simulate, terminal);
  }
  Result<Config> config = site_config(line.site);
  if (!config && app.got_subcommand("off")) {
    config.error().message +=
        "; `systemctl stop penstockd` gives all back to Slurm as well";
  }
  if (!config) return std::move(config).error();
  if (app.got_subcommand("report")) {
    return run_report(line.report, *config, terminal);
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
  return run_predict_line(line, *config, terminal);
}

void add_all(CommandLine& line) {
  line.app.name("penstock");
  line.app.require_subcommand(0, 1);  // so that a misspelt one is named
  line.app.set_version_flag("--version", kVersion);
  add_report(line);
  add_top(line);
  add_jobs(line);
  add_nodes(line);
  add_history(line);
  add_check_config(line);
  add_doctor(line);
  add_switch(line);
  add_predict(line);
  add_publish(line);
  add_simulate(line);
  add_bench(line);
}

int run_guarded(int argc, const char* const* argv, Terminal& terminal,
                std::ostream& errors) {
  CommandLine line;
  add_all(line);
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
  int code = kExitOk;  // of what went as it should
  Status status = Done{};
  if (line.app.got_subcommand("doctor")) {
    code = run_doctor(line.doctor, terminal);
  } else {
    status = run_chosen(line, terminal);
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
