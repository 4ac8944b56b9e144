// `penstock simulate`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/penstock/bench_figures.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/read_file.h"
#include "tools/simulate/bounds.h"
#include "tools/simulate/figure.h"
#include "tools/simulate/simulation.h"

namespace penstock {
namespace {

using simulate::Options;
using simulate::Outcome;
using simulate::Policy;
using simulate::TraceJob;

constexpr size_t kMaxTraceBytes = size_t{256} << 20;
constexpr double kHour_s = 3600;

struct SimulateArguments {
  std::string trace;
  std::string profiles;  // "": none
  int nodes = 4;
  int gpus_per_node = 8;
  double cores_per_node = 24;
  double memory_gb_per_node = 500;
  double round_s = 300;  // 0: no rounds
  std::string placement = "pack";
  std::string policy = "penstock";
  std::string order = "fifo";
  double core_scale = 3;
  std::vector<std::string> left_out_models;
  size_t max_jobs = 0;  // 0: all
  double prediction_error = 1;
  uint64_t seed = 1;
  std::string json_file;  // "": none
  std::string svg_file;   // "": none
};

Options options_of(const SimulateArguments& arguments) {
  Options options;
  options.size = {arguments.nodes, arguments.gpus_per_node,
                  arguments.cores_per_node, arguments.memory_gb_per_node};
  options.round_s = arguments.round_s;
  options.placement = arguments.placement == "pack"
                          ? simulate::Placement::kPack
                          : simulate::Placement::kSpread;
  for (const simulate::NamedPolicy& named : simulate::named_policies()) {
    if (named.name != arguments.policy) continue;
    options.policy = named.policy;
    options.objective = named.objective;
  }
  options.order = arguments.order == "srtf" ? simulate::Order::kSrtf
                                            : simulate::Order::kFifo;
  options.prediction_error = arguments.prediction_error;
  options.seed = arguments.seed;
  return options;
}

Result<std::vector<TraceJob>> read_trace(const SimulateArguments& arguments) {
  simulate::TraceOptions options;
  options.core_scale = arguments.core_scale;
  options.left_out_models = arguments.left_out_models;
  options.max_jobs = arguments.max_jobs;
  if (!arguments.profiles.empty()) {
    Result<std::string> json = read_file(arguments.profiles, kMaxTraceBytes);
    if (!json) return std::move(json).error();
    options.profiles_json = std::move(*json);
  }
  Result<std::string> text = read_file(arguments.trace, kMaxTraceBytes);
  if (!text) return std::move(text).error();
  Result<std::vector<TraceJob>> jobs = simulate::parse_trace(*text, options);
  if (!jobs) return std::move(jobs).error().wrap(arguments.trace);
  return jobs;
}

// The runs of one command: the chosen policy, its baselines and its bounds.
struct Runs {
  Outcome chosen;
  Outcome even;
  Outcome proportional;
  Outcome ceiling;
  Outcome pool;
};

Result<Runs> run_all(const std::vector<TraceJob>& jobs, const Options& options,
                     Terminal& terminal) {
  Runs runs;
  const auto run = [&](Policy policy, const char* name,
                       Outcome& outcome) -> Status {
    Options these = options;
    these.policy = policy;
    int shown = -1;
    const auto progress = [&](double share) {
      const int percent = static_cast<int>(share * 100);
      if (!terminal.interactive || percent == shown) return;
      shown = percent;
      terminal.out << fmt::format("\r{:<12} {:>3}% of {} jobs", name, percent,
                                  jobs.size())
                   << (percent == 100 ? "\r\033[K" : "") << std::flush;
    };
    Result<Outcome> result = simulate::simulate(jobs, these, progress);
    if (!result) return std::move(result).error();
    outcome = std::move(*result);
    return Done{};
  };
  const struct {
    Policy policy;
    const char* name;
    Outcome* outcome;
  } wanted[] = {{options.policy, "the policy", &runs.chosen},
                {Policy::kEven, "even", &runs.even},
                {Policy::kProportional, "a fixed slice", &runs.proportional},
                {Policy::kCeiling, "ceilings", &runs.ceiling},
                {Policy::kPool, "one pool", &runs.pool}};
  for (const auto& it : wanted) {
    if (Status status = run(it.policy, it.name, *it.outcome); !status) {
      return status.error();
    }
  }
  return runs;
}

// Ratios of the jobs' completion times.
std::vector<double> jct_ratios(const Outcome& chosen, const Outcome& baseline) {
  std::vector<double> ratios;
  for (size_t i = 0; i < chosen.jobs.size(); ++i) {
    ratios.push_back(chosen.jobs[i].jct_s / baseline.jobs[i].jct_s);
  }
  return ratios;
}

// The policy's gain as a share of the gain of the hypothetical pool.
double share_of(double gain, double pool_gain) {
  return pool_gain > 1 ? (gain - 1) / (pool_gain - 1) : 1;
}

std::vector<BenchFigure> figures_of(const Runs& runs, double fluid) {
  const Outcome& chosen = runs.chosen;
  const double gain = runs.even.gpu_s_held / chosen.gpu_s_held;
  const double pool_gain = runs.even.gpu_s_held / runs.pool.gpu_s_held;
  const double makespan = chosen.makespan_s / runs.even.makespan_s;
  const double pool_makespan = runs.pool.makespan_s / runs.even.makespan_s;
  const std::vector<double> ratios = jct_ratios(chosen, runs.even);
  const std::vector<double> fixed = jct_ratios(chosen, runs.proportional);
  return {
      single("makespan_s", "s", chosen.makespan_s),
      single("mean_jct_s", "s", chosen.mean_jct_s),
      single("p95_jct_s", "s", chosen.p95_jct_s),
      single("gpu_hours_held", "h", chosen.gpu_s_held / kHour_s),
      single("gpu_hours_stalled", "h", chosen.gpu_s_stalled / kHour_s),
      single("min_rate_vs_floor", "1", chosen.min_rate_vs_floor),
      single("throughput_gain", "1", gain),
      single("throughput_gain_of_pool", "1", pool_gain),
      single("share_of_pool_gain", "1", share_of(gain, pool_gain)),
      single("makespan_ratio", "1", makespan),
      single("makespan_ratio_of_pool", "1", pool_makespan),
      single("share_of_pool_makespan_gain", "1",
             share_of(1 / makespan, 1 / pool_makespan)),
      summarise("jct_ratio_to_even", "1", ratios),
      single("worst_jct_ratio_to_even", "1",
             *std::max_element(ratios.begin(), ratios.end())),
      summarise("jct_ratio_to_proportional", "1", fixed),
      single("worst_jct_ratio_to_proportional", "1",
             *std::max_element(fixed.begin(), fixed.end())),
      single("ceiling_makespan_s", "s", runs.ceiling.makespan_s),
      single("fluid_makespan_s", "s", fluid),
  };
}

std::string json_of(const Runs& runs, const std::vector<BenchFigure>& figures) {
  auto json = nlohmann::ordered_json::parse(
      figures_json("simulate", machine_text(), figures));
  const std::vector<double> ratios = jct_ratios(runs.chosen, runs.even);
  const std::vector<double> fixed = jct_ratios(runs.chosen, runs.proportional);
  auto& jobs = json["jobs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < ratios.size(); ++i) {
    const simulate::JobOutcome& job = runs.chosen.jobs[i];
    jobs.push_back({{"id", job.id},
                    {"start_s", job.start_s},
                    {"end_s", job.end_s},
                    {"jct_s", job.jct_s},
                    {"jct_ratio_to_even", ratios[i]},
                    {"jct_ratio_to_proportional", fixed[i]}});
  }
  return json.dump(1) + "\n";
}

std::string title_of(const SimulateArguments& it, size_t jobs) {
  return fmt::format(
      "{} jobs, {} nodes of {} GPUs and {} cores, {}, {}, {}, {}", jobs,
      it.nodes, it.gpus_per_node, it.cores_per_node, it.policy, it.order,
      it.placement,
      it.round_s > 0 ? fmt::format("rounds of {} s", it.round_s)
                     : std::string("no rounds"));
}

Status run_simulate(const SimulateArguments& arguments, Terminal& terminal) {
  const Result<std::vector<TraceJob>> jobs = read_trace(arguments);
  if (!jobs) return jobs.error();
  const Options options = options_of(arguments);
  Result<Runs> runs = run_all(*jobs, options, terminal);
  if (!runs) return std::move(runs).error();
  const std::vector<BenchFigure> figures =
      figures_of(*runs, simulate::fluid_makespan_s(*jobs, options.size));
  const std::string title = title_of(arguments, jobs->size());
  terminal.out << "simulated: " << title << "\n" << figures_table(figures);
  if (!arguments.svg_file.empty()) {
    Status status = write_text(arguments.svg_file,
                               simulate::utilisation_svg(runs->chosen, title));
    if (!status) return status;
  }
  if (arguments.json_file.empty()) return Done{};
  return write_text(arguments.json_file, json_of(*runs, figures));
}

void add_cluster_shape(CLI::App* command, SimulateArguments& it) {
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--gpus-per-node", it.gpus_per_node, "GPUs per node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--cores-per-node", it.cores_per_node,
                   "loader cores per node")
      ->check(CLI::Range(0.001, 4096.0))
      ->capture_default_str();
  command
      ->add_option("--memory-per-node", it.memory_gb_per_node,
                   "memory per node, GB; for the policies greedy and tune")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const simulate::NamedPolicy& named : simulate::named_policies()) {
    names.push_back(named.name);
  }
  return names;
}

}  // namespace

Run add_simulate(CLI::App* command) {
  auto shared = std::make_shared<SimulateArguments>();
  SimulateArguments& it = *shared;
  command->add_option("--trace", it.trace, "trace of Synergy or Muri, CSV")
      ->required();
  command->add_option("--profiles", it.profiles,
                      "profiles for a trace of Synergy, JSON");
  add_cluster_shape(command, it);
  command
      ->add_option(
          "--round", it.round_s,
          "seconds between new placements of all jobs; 0: no new placements")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--placement", it.placement, "pack or spread")
      ->check(CLI::IsMember({"pack", "spread"}))
      ->capture_default_str();
  command->add_option("--policy", it.policy, "allocation policy")
      ->check(CLI::IsMember(policy_names()))
      ->capture_default_str();
  command->add_option("--order", it.order, "fifo or srtf")
      ->check(CLI::IsMember({"fifo", "srtf"}))
      ->capture_default_str();
  command
      ->add_option(
          "--core-scale", it.core_scale,
          "Muri's traces: cores that load at the speed of resource_time_0")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--without", it.left_out_models,
                   "exclude jobs of this model (repeatable)")
      ->delimiter(',');
  command->add_option("--max-jobs", it.max_jobs,
                      "number of jobs to simulate; 0: all");
  command
      ->add_option("--prediction-error", it.prediction_error,
                   "largest factor between predicted and true cores")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  command->add_option("--seed", it.seed, "seed of the prediction errors");
  command->add_option("--json", it.json_file,
                      "also write the figures to this file");
  command->add_option("--svg", it.svg_file,
                      "write utilisation over time as SVG to this file");
  return [shared](Invocation& invocation) {
    return run_simulate(*shared, invocation.terminal);
  };
}

}  // namespace penstock
