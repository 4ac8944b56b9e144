// The cluster's solver against Clp, on random small clusters whose jobs start
// and end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/allocator/cluster_oracle.h"
#include "tests/unit/allocator/random_problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator::testing {
namespace {

constexpr int kClusters = 300;
constexpr int kEvents = 8;
constexpr double kGap = 1e-3;
constexpr double kOracle = 1e-6;  // tolerance of Clp
// Of a full resource, at most this much is unused (cluster_price.cpp).
constexpr double kUnused = 1e-3;

class RandomClusters {
 public:
  explicit RandomClusters(uint64_t seed) : random_(seed) {}

  ClusterCase next() {
    ClusterCase problem;
    const int nodes = random_.whole(1, 6);
    for (int n = 0; n < nodes; ++n) {
      ClusterNode node;
      node.cores = random_.chance(0.1) ? 0.5 : random_.whole(4, 48);
      if (random_.chance(0.3)) node.ingest_bytes_per_s = random_.real(1e6, 1e9);
      problem.nodes.push_back(node);
    }
    const int pools = random_.whole(0, 2);
    for (int f = 0; f < pools; ++f) {
      problem.pools.push_back(random_.real(1e7, 1e10));
    }
    return problem;
  }

  ClusterJob next_job(const ClusterCase& problem, uint64_t id) {
    ClusterJob job;
    job.id = id;
    job.weight = random_.chance(0.5) ? random_.whole(1, 8)
                                     : std::pow(10, random_.real(-1, 1));
    Job::Point point;
    double slope = random_.chance(0.05) ? 0 : random_.real(0.1, 2);
    for (int i = random_.whole(1, 4); i > 0; --i) {
      const double length = random_.real(0.2, 2);
      point.rate += 100 * length;
      point.cores += slope * length;
      job.cores_curve.push_back(point);
      slope += random_.real(0, 2);
    }
    job.ceiling = point.rate * random_.real(0.4, 1.3);
    if (random_.chance(0.7)) {
      job.bytes_per_sample = std::pow(10, random_.real(4, 6.5));
      job.pool = random_.whole(-1, static_cast<int>(problem.pools.size()) - 1);
    }
    if (random_.chance(0.2)) job.max_cores_per_rank = random_.whole(0, 4);
    for (int n = 0; n < static_cast<int>(problem.nodes.size()); ++n) {
      if (!random_.chance(0.4) && !job.parts.empty()) continue;
      ClusterPart part;
      part.node = n;
      part.ranks = random_.whole(1, 4);
      part.core_factor = random_.chance(0.7) ? 1 : random_.real(0.5, 2);
      part.entitled_cores = std::min(
          random_.chance(0.2) ? 0 : random_.real(0, 8), unpromised(problem, n));
      job.parts.push_back(part);
    }
    return job;
  }

  // The index of a job to remove; -1: add one.
  int next_event(const ClusterCase& problem) {
    const int jobs = static_cast<int>(problem.jobs.size());
    return jobs == 0 || random_.chance(0.5) ? -1 : random_.whole(0, jobs - 1);
  }

  int whole(int low, int high) { return random_.whole(low, high); }

 private:
  static double unpromised(const ClusterCase& problem, int node) {
    double left = problem.nodes[node].cores;
    for (const ClusterJob& job : problem.jobs) {
      for (const ClusterPart& part : job.parts) {
        if (part.node == node) left -= part.entitled_cores;
      }
    }
    return std::max(0.0, left);
  }

  RandomProblems random_;
};

Levels levels_of(const ClusterCase& problem, const ClusterSolver& solver) {
  Levels levels;
  for (const ClusterJob& job : problem.jobs) {
    levels.push_back(*solver.rate(job.id) / job.ceiling);
  }
  return levels;
}

void check_throughput(const ClusterCase& problem, const Levels& levels,
                      const ClusterSolver& solver) {
  std::vector<double> gains;
  double ours = 0;
  for (size_t j = 0; j < levels.size(); ++j) {
    gains.push_back(problem.jobs[j].weight);
    ours += problem.jobs[j].weight * levels[j];
  }
  const double best = greatest_gain(problem, gains);
  REQUIRE(ours >= (1 - kGap) * best - kOracle);
  REQUIRE(ours * (1 + solver.gap()) >= (1 - 1e-8) * best - 1e-7);
}

// U is concave: no rates improve it by more than the slope at this point.
void check_fair(const ClusterCase& problem, const Levels& levels,
                const ClusterSolver&) {
  std::vector<double> slopes;
  double weights = 0;
  double here = 0;
  for (size_t j = 0; j < levels.size(); ++j) {
    const double weight = problem.jobs[j].weight;
    // A job without a floor and without resources left does not count. One with
    // a tiny level keeps its part of `here`, which others could take over; its
    // own slope is too large for an LP solver.
    slopes.push_back(levels[j] > 1e-6 ? weight / levels[j] : 0);
    if (levels[j] > 0) here += weight;
    weights += weight;
  }
  REQUIRE(greatest_gain(problem, slopes) - here <= kGap * weights + kOracle);
}

// Every job that could be faster is limited by a full resource in which no job
// has a higher level, unless its floor requires that.
void check_max_min(const ClusterCase& problem, const Levels& levels,
                   const ClusterSolver&) {
  const Levels floors = floors_of(problem);
  const Levels caps = caps_of(problem);
  std::vector<bool> is_held(levels.size());
  for (const auto& [name, use] : uses_of(problem, levels)) {
    if (use.share < 1 - kUnused && use.share > 0) continue;
    double highest = 0;
    for (size_t j : use.users) {
      if (levels[j] > floors[j] + 1e-9) highest = std::max(highest, levels[j]);
    }
    for (size_t j : use.would_take) {
      if (levels[j] >= highest * (1 - 1e-6) - 1e-9) is_held[j] = true;
    }
  }
  for (size_t j = 0; j < levels.size(); ++j) {
    INFO("job " << problem.jobs[j].id << " at " << levels[j] << ", floor "
                << floors[j] << ", cap " << caps[j]);
    for (const auto& [name, use] : uses_of(problem, levels)) {
      std::string line = name + fmt::format(" {:.6f}:", use.share);
      for (size_t k : use.would_take) {
        line += fmt::format(" {} at {} (floor {})", problem.jobs[k].id,
                            levels[k], floors[k]);
      }
      UNSCOPED_INFO(line);
    }
    REQUIRE((is_held[j] || levels[j] >= caps[j] - 1e-9));
  }
}

void run(const char* name, Policy objective,
         void (*check)(const ClusterCase&, const Levels&,
                       const ClusterSolver&)) {
  RandomClusters random(test_seed(name));
  for (int i = 0; i < kClusters; ++i) {
    ClusterCase problem = random.next();
    Result<ClusterSolver> solver =
        ClusterSolver::create(problem.nodes, problem.pools, objective);
    REQUIRE(solver);
    uint64_t id = 0;
    const auto add = [&] {
      const ClusterJob job = random.next_job(problem, ++id);
      const Status status = solver->add(job);
      INFO((status ? "" : status.error().message));
      REQUIRE(status);
      problem.jobs.push_back(job);
    };
    for (int jobs = random.whole(1, 12); jobs > 0; --jobs) add();
    for (int event = 0; event < kEvents; ++event) {
      solver->settle();
      INFO("cluster " << i << ", event " << event);
      const Levels levels = levels_of(problem, *solver);
      REQUIRE(broken_rule(problem, levels) == "");
      check(problem, levels, *solver);
      const int leaving = random.next_event(problem);
      if (leaving < 0) {
        add();
      } else {
        REQUIRE(solver->remove(problem.jobs[leaving].id));
        problem.jobs.erase(problem.jobs.begin() + leaving);
      }
    }
  }
}

TEST_CASE("throughput stays within a thousandth of Clp's optimum") {
  run("cluster throughput", Policy::kThroughput, check_throughput);
}

TEST_CASE("fair stays within a thousandth of a weight of the optimum") {
  run("cluster fair", Policy::kFair, check_fair);
}

TEST_CASE("max-min raises every job that can have more") {
  run("cluster max-min", Policy::kMaxMin, check_max_min);
}

}  // namespace
}  // namespace penstock::allocator::testing
