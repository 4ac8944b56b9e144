#include "tests/unit/allocator/cluster_oracle.h"

#include <Clp_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace penstock::allocator::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;
constexpr double kClpTolerance = 1e-11;
constexpr double kFaster = 1e-4;  // of the ceiling

struct Line {
  double slope = 0;
  double offset = 0;
};

// The cores of a rank as a function of its level.
std::vector<Line> lines_of(const ClusterJob& job) {
  std::vector<Line> lines;
  Job::Point from;
  for (const Job::Point& to : job.cores_curve) {
    if (to.rate > from.rate) {
      const double slope = (to.cores - from.cores) / (to.rate - from.rate);
      lines.push_back({slope * job.ceiling, from.cores - slope * from.rate});
    }
    from = to;
  }
  return lines;
}

double rank_cores(const ClusterJob& job, double level) {
  double cores = 0;
  for (const Line& line : lines_of(job)) {
    cores = std::max(cores, line.slope * level + line.offset);
  }
  return cores;
}

double level_of_cores(const ClusterJob& job, double cores) {
  double level = 1;
  for (const Line& line : lines_of(job)) {
    if (line.slope > 0) {
      level = std::min(level, (cores - line.offset) / line.slope);
    }
  }
  return std::max(0.0, level);
}

// Adds up the ranks of all jobs that read, by ingest and by pool.
std::map<std::string, double> ranks_by_limit(const ClusterCase& problem) {
  std::map<std::string, double> ranks;
  for (const ClusterJob& job : problem.jobs) {
    if (job.bytes_per_sample == 0) continue;
    for (const ClusterPart& part : job.parts) {
      ranks[fmt::format("ingest {}", part.node)] += part.ranks;
      if (job.pool >= 0) ranks[fmt::format("pool {}", job.pool)] += part.ranks;
    }
  }
  return ranks;
}

class Clp {
 public:
  explicit Clp(int columns) : model_(Clp_newModel(), Clp_deleteModel) {
    Clp_setLogLevel(model_.get(), 0);
    Clp_setPrimalTolerance(model_.get(), kClpTolerance);
    Clp_setDualTolerance(model_.get(), kClpTolerance);
    Clp_setOptimizationDirection(model_.get(), -1);
    Clp_resize(model_.get(), 0, columns);
  }
  void column(int index, double low, double high, double gain) {
    Clp_columnLower(model_.get())[index] = low;
    Clp_columnUpper(model_.get())[index] = high;
    Clp_objective(model_.get())[index] = gain;
  }
  void row(double low, double high, const std::vector<int>& columns,
           const std::vector<double>& values) {
    const int starts[] = {0, static_cast<int>(columns.size())};
    Clp_addRows(model_.get(), 1, &low, &high, starts, columns.data(),
                values.data());
  }
  // NaN: no solution. If floors fill a resource completely, the primal method
  // may miss the only corner.
  double solve() {
    Clp_primal(model_.get(), 0);
    if (Clp_status(model_.get()) != 0) Clp_dual(model_.get(), 0);
    return Clp_status(model_.get()) == 0 ? Clp_objectiveValue(model_.get())
                                         : std::nan("");
  }

 private:
  std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model_;
};

struct Row {
  std::vector<int> columns;
  std::vector<double> values;
};

}  // namespace

Levels caps_of(const ClusterCase& problem) {
  Levels caps;
  for (const ClusterJob& job : problem.jobs) {
    caps.push_back(level_of_cores(job, job.max_cores_per_rank));
  }
  return caps;
}

Levels floors_of(const ClusterCase& problem) {
  const std::map<std::string, double> ranks = ranks_by_limit(problem);
  Levels floors = caps_of(problem);
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const ClusterJob& job = problem.jobs[j];
    const double bytes = job.bytes_per_sample * job.ceiling;
    for (const ClusterPart& part : job.parts) {
      floors[j] = std::min(
          floors[j], level_of_cores(job, part.entitled_cores /
                                             (part.ranks * part.core_factor)));
      const double ingest = problem.nodes[part.node].ingest_bytes_per_s;
      if (bytes == 0 || ingest == 0) continue;
      const double sharing = ranks.at(fmt::format("ingest {}", part.node));
      floors[j] = std::min(floors[j], ingest / sharing / bytes);
    }
    if (bytes == 0 || job.pool < 0) continue;
    const double sharing = ranks.at(fmt::format("pool {}", job.pool));
    floors[j] = std::min(floors[j], problem.pools[job.pool] / sharing / bytes);
  }
  return floors;
}

std::map<std::string, Use> uses_of(const ClusterCase& problem,
                                   const Levels& levels) {
  std::map<std::string, Use> uses;
  const auto add = [&](const std::string& name, size_t job, double amount,
                       double capacity, double amount_if_faster) {
    Use& use = uses[name];
    if (amount > kTolerance) {
      use.share += capacity > 0 ? amount / capacity : kInfinity;
      use.users.push_back(job);
    }
    if (amount_if_faster > kTolerance) use.would_take.push_back(job);
  };
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const ClusterJob& job = problem.jobs[j];
    const double bytes = job.bytes_per_sample * job.ceiling * levels[j];
    double ranks = 0;
    for (const ClusterPart& part : job.parts) {
      const ClusterNode& node = problem.nodes[part.node];
      ranks += part.ranks;
      add(fmt::format("cores of node {}", part.node), j,
          part.ranks * part.core_factor * rank_cores(job, levels[j]),
          node.cores, rank_cores(job, levels[j] + kFaster));
      if (job.bytes_per_sample == 0 || node.ingest_bytes_per_s == 0) continue;
      add(fmt::format("ingest of node {}", part.node), j, part.ranks * bytes,
          node.ingest_bytes_per_s, 1);
    }
    if (job.bytes_per_sample == 0 || job.pool < 0) continue;
    add(fmt::format("pool {}", job.pool), j, ranks * bytes,
        problem.pools[job.pool], 1);
  }
  return uses;
}

std::string broken_rule(const ClusterCase& problem, const Levels& levels) {
  const Levels floors = floors_of(problem);
  const Levels caps = caps_of(problem);
  for (size_t j = 0; j < levels.size(); ++j) {
    if (!(levels[j] >= floors[j] - kTolerance)) {
      return fmt::format("job {}: level {} is under its floor {}",
                         problem.jobs[j].id, levels[j], floors[j]);
    }
    if (!(levels[j] <= caps[j] + kTolerance)) {
      return fmt::format("job {}: level {} is over its cap {}",
                         problem.jobs[j].id, levels[j], caps[j]);
    }
  }
  for (const auto& [name, use] : uses_of(problem, levels)) {
    if (use.share > 1 + kTolerance) {
      return fmt::format("{}: {} of it is used", name, use.share);
    }
  }
  return "";
}

double greatest_gain(const ClusterCase& problem,
                     const std::vector<double>& gains) {
  const Levels floors = floors_of(problem);
  const Levels caps = caps_of(problem);
  Clp clp(static_cast<int>(2 * problem.jobs.size()));
  std::vector<Row> cores(problem.nodes.size());
  std::vector<Row> ingest(problem.nodes.size());
  std::vector<Row> pools(problem.pools.size());
  const auto add = [](Row& row, int column, double value) {
    row.columns.push_back(column);
    row.values.push_back(value);
  };
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const ClusterJob& job = problem.jobs[j];
    const int level = static_cast<int>(2 * j);
    clp.column(level, floors[j], caps[j], gains[j]);
    clp.column(level + 1, 0, kInfinity, 0);
    for (const Line& line : lines_of(job)) {
      clp.row(line.offset, kInfinity, {level, level + 1}, {-line.slope, 1});
    }
    double ranks = 0;
    const double bytes = job.bytes_per_sample * job.ceiling;
    for (const ClusterPart& part : job.parts) {
      ranks += part.ranks;
      add(cores[part.node], level + 1, part.ranks * part.core_factor);
      const double limit = problem.nodes[part.node].ingest_bytes_per_s;
      if (limit > 0) add(ingest[part.node], level, part.ranks * bytes / limit);
    }
    if (job.pool >= 0) {
      add(pools[job.pool], level, ranks * bytes / problem.pools[job.pool]);
    }
  }
  for (size_t n = 0; n < cores.size(); ++n) {
    clp.row(-kInfinity, problem.nodes[n].cores, cores[n].columns,
            cores[n].values);
    clp.row(-kInfinity, 1, ingest[n].columns, ingest[n].values);
  }
  for (const Row& row : pools) {
    clp.row(-kInfinity, 1, row.columns, row.values);
  }
  return clp.solve();
}

}  // namespace penstock::allocator::testing
