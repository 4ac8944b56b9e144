// Advice for random jobs whose rate follows a known law: what is advised has
// nearly the rate that a whole node gives, with at most a CPU too many.
#include <cmath>
#include <random>
#include <regex>

#include "tests/unit/catch.h"
#include "tools/advise/advice.h"

namespace penstock::advise {
namespace {

constexpr double kNearly = 0.97;
constexpr double kRounding = 0.99;  // of CPUs and workers to whole numbers

// A rank's loader takes `loader_s` of a core for a sample, its trainer
// `trainer_s`; the accelerator makes at most `ceiling` samples/s.
struct Job {
  double loader_s, trainer_s, ceiling;
  int tasks, node_cpus;  // of a node, with all tasks
  int cpus, workers;     // of a task, in the earlier run

  double rate(int with_cpus, double with_workers) const {
    return std::min(
        {ceiling, with_cpus / (loader_s + trainer_s), with_workers / loader_s});
  }
  int most() const { return node_cpus / tasks; }
  int fewest() const {
    int cpus_at = 1;
    while (rate(cpus_at, 1e9) < kNearly * rate(most(), 1e9)) ++cpus_at;
    return cpus_at;
  }
};

Job random_job(std::mt19937& chance) {
  const auto between = [&](double low, double high) {
    return low *
           std::pow(high / low, std::uniform_real_distribution<>(0, 1)(chance));
  };
  const auto whole = [&](int low, int high) {
    return std::uniform_int_distribution<>(low, high)(chance);
  };
  Job out{};
  out.loader_s = between(1e-4, 0.1);
  out.trainer_s = out.loader_s * between(0.01, 2);
  out.ceiling = between(0.2, 40) / out.loader_s;  // takes so many cores
  out.tasks = whole(1, 8);
  out.node_cpus = out.tasks * whole(2, 64);
  out.cpus = whole(1, out.most());
  out.workers = whole(1, 2 * out.cpus);
  return out;
}

EarlierRun run_of(const Job& job) {
  EarlierRun out;
  JobReport& report = out.report;
  const double tasks = job.tasks;
  const double rate = job.rate(job.cpus, job.workers);
  const double waited = 100 * (1 - rate / job.ceiling);
  report.job_id = 1;
  report.tasks = report.ranks = uint32_t(job.tasks);
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{100 - waited}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{waited}}},
                                     .waited_s = waited});
  CoreFigures& cores = report.cores;
  cores.node = job.node_cpus;
  cores.allocated = job.cpus * tasks;
  cores.reserve = 0;
  cores.demand = Estimate::exact(job.ceiling * job.loader_s * tasks);
  cores.trainer_demand = Estimate::exact(job.ceiling * job.trainer_s * tasks);
  cores.loader_threads = job.workers * tasks;
  cores.loader_kind = LoaderKind::kProcesses;
  WhatIfCurve& curve = report.what_if.emplace();
  curve.ceiling = job.ceiling * tasks;
  curve.here_rate = rate * tasks;
  const double end = 1.2 * cores.demand->value;
  for (int i = 0; i < 64; ++i) {
    const double at = end * i / 63;
    const double total = std::min(curve.ceiling, at / job.loader_s);
    curve.points.push_back({at, Estimate::exact(total)});
  }
  return out;
}

std::vector<NodeGroup> nodes_of(const Job& job) {
  NodeGroup out;
  out.partition = "p";
  out.nodes = 1;
  out.cpus = job.node_cpus;
  out.memory_bytes = 1e12;
  out.is_up = true;
  return {out};
}

int workers_of(const std::vector<std::string>& lines, int otherwise) {
  const std::regex pattern("num_workers=(\\d+)");
  for (const std::string& line : lines) {
    std::smatch found;
    if (std::regex_match(line, found, pattern)) return std::stoi(found[1]);
  }
  return otherwise;
}

}  // namespace

TEST_CASE("advised CPUs give nearly what a node gives, with one to spare") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 chance(seed);
  for (int i = 0; i < 2000; ++i) {
    const Job job = random_job(chance);
    CAPTURE(i, job.loader_s, job.trainer_s, job.ceiling, job.tasks,
            job.node_cpus, job.cpus, job.workers);
    Request request;
    request.tasks_per_node = job.tasks;
    request.cpus_per_task = job.cpus;
    const auto advice = advise_by_run(request, run_of(job), nodes_of(job));
    REQUIRE(advice);
    const int cpus = advice->advised_cpus_per_task;
    CAPTURE(cpus, advice->lines);
    const double reached =
        job.rate(cpus, workers_of(advice->lines, job.workers));
    REQUIRE(reached >= kRounding * kNearly * job.rate(job.most(), 1e9));
    REQUIRE(cpus <= job.fewest() + 1);
  }
}

}  // namespace penstock::advise
