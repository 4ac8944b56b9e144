// Part of `penstock bench allocator`: a whole cluster, solved from scratch and
// updated while jobs end and start.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>

#include "bench/allocator/bench_allocator.h"
#include "bench/allocator/cluster_mix.h"

namespace penstock {
namespace {

using allocator::ClusterJob;
using allocator::ClusterSolver;

constexpr int kNodes = 10000;
constexpr int kSolves = 3;
constexpr int kEvents = 1000;
constexpr int kSmallClusters = 100;

using Figures = std::vector<BenchFigure>;

ClusterShape shape_of(int nodes) {
  ClusterShape shape;
  shape.nodes = nodes;
  shape.jobs = 4 * nodes;
  return shape;
}

double timed_s(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// A cluster whose jobs end and are replaced by others on their GPUs.
class LiveCluster {
 public:
  LiveCluster(int nodes, uint64_t seed)
      : mixer_(shape_of(nodes), seed), mix_(mixer_.make()), random_(seed) {}

  // Solves from scratch.
  [[nodiscard]] Status start() {
    Result<ClusterSolver> solver =
        ClusterSolver::create(mix_.nodes, mix_.pools, kDefaultPolicy);
    if (!solver) return std::move(solver).error();
    solver_ = std::make_unique<ClusterSolver>(std::move(*solver));
    for (const ClusterJob& job : mix_.jobs) {
      if (Status status = solver_->add(job); !status) return status;
    }
    solver_->settle();
    return Done{};
  }

  // Ends a random job.
  [[nodiscard]] Status end_one() {
    changing_ =
        std::uniform_int_distribution<size_t>(0, mix_.jobs.size() - 1)(random_);
    if (Status status = solver_->remove(mix_.jobs[changing_].id); !status) {
      return status;
    }
    solver_->settle();
    return Done{};
  }

  // Starts a job on the GPUs of the last one that ended.
  [[nodiscard]] Status start_one() {
    ClusterJob& job = mix_.jobs[changing_];
    job = mixer_.successor(job);
    if (Status status = solver_->add(job); !status) return status;
    solver_->settle();
    return Done{};
  }

  const ClusterSolver& solver() const { return *solver_; }

 private:
  ClusterMixer mixer_;
  ClusterMix mix_;
  std::mt19937_64 random_;
  std::unique_ptr<ClusterSolver> solver_;
  size_t changing_ = 0;
};

// Time of each event in milliseconds; every second event starts a job.
Result<std::vector<double>> run_events(LiveCluster& cluster, int events) {
  std::vector<double> times_ms;
  for (int event = 0; event < events; ++event) {
    Status status = Done{};
    times_ms.push_back(1e3 * timed_s([&] {
                         status = event % 2 == 0 ? cluster.end_one()
                                                 : cluster.start_one();
                       }));
    if (!status) return status.error();
  }
  return times_ms;
}

Result<double> worst_small_gap() {
  double worst = 0;
  for (int i = 0; i < kSmallClusters; ++i) {
    LiveCluster cluster(4 + i / 2, i);
    if (Status status = cluster.start(); !status) return status.error();
    worst = std::max(worst, cluster.solver().gap());
    const Result<std::vector<double>> times = run_events(cluster, 100);
    if (!times) return times.error();
    worst = std::max(worst, cluster.solver().gap());
  }
  return worst;
}

// Exponent e of the least-squares fit time = c x nodes^e.
double growth(const std::vector<int>& nodes,
              const std::vector<double>& time_s) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const double count = static_cast<double>(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const double log_nodes = std::log(nodes[i]);
    const double log_time = std::log(time_s[i]);
    x += log_nodes / count;
    y += log_time / count;
    xx += log_nodes * log_nodes / count;
    xy += log_nodes * log_time / count;
  }
  return (xy - x * y) / (xx - x * x);
}

double memory_mb() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Status solve_figures(LiveCluster& largest, Figures& figures,
                     const std::function<void(const std::string&)>& progress) {
  std::vector<int> sizes;
  std::vector<double> medians_s;
  for (int nodes = kNodes / 8; nodes <= kNodes; nodes *= 2) {
    progress(fmt::format("{} nodes from nothing", nodes));
    LiveCluster small(nodes < kNodes ? nodes : 1, 1);
    LiveCluster& cluster = nodes < kNodes ? small : largest;
    std::vector<double> runs_s;
    for (int run = 0; run < kSolves; ++run) {
      Status status = Done{};
      runs_s.push_back(timed_s([&] { status = cluster.start(); }));
      if (!status) return status;
    }
    figures.push_back(
        summarise(nodes < kNodes ? fmt::format("full_solve_{}_nodes_s", nodes)
                                 : "full_solve_s",
                  "s", std::move(runs_s)));
    sizes.push_back(nodes);
    medians_s.push_back(figures.back().value);
  }
  figures.push_back(single("growth_exponent", "1", growth(sizes, medians_s)));
  return Done{};
}

}  // namespace

Result<Figures> cluster_figures(
    const std::function<void(const std::string&)>& progress) {
  Figures figures;
  LiveCluster cluster(kNodes, 1);
  if (Status status = solve_figures(cluster, figures, progress); !status) {
    return status.error();
  }
  const double full_gap = cluster.solver().gap();
  progress(fmt::format("{} job events", kEvents));
  Result<std::vector<double>> times_ms = run_events(cluster, kEvents);
  if (!times_ms) return times_ms.error();
  std::sort(times_ms->begin(), times_ms->end());
  const double p99 = (*times_ms)[kEvents * 99 / 100 - 1];
  const double longest = times_ms->back();
  const double event_gap = cluster.solver().gap();
  figures.push_back(summarise("event_p50_ms", "ms", std::move(*times_ms)));
  figures.push_back(single("event_p99_ms", "ms", p99, kEvents));
  figures.push_back(single("event_max_ms", "ms", longest, kEvents));
  const double full = cluster.solver().full_nodes();
  figures.push_back(single("full_nodes", "1", full / kNodes));
  figures.push_back(single("full_pools", "1", cluster.solver().full_pools()));
  progress(fmt::format("{} small clusters", kSmallClusters));
  const Result<double> small_gap = worst_small_gap();
  if (!small_gap) return small_gap.error();
  figures.push_back(single("gap_full_size", "1", full_gap));
  figures.push_back(single("gap_after_events", "1", event_gap));
  figures.push_back(single("gap_small", "1", *small_gap));
  figures.push_back(
      single("gap_to_lp", "1", std::max({full_gap, event_gap, *small_gap})));
  figures.push_back(single("memory_mb", "MB", memory_mb()));
  return figures;
}

}  // namespace penstock
