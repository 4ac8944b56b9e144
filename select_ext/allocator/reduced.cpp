#include "select_ext/allocator/reduced.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "select_ext/allocator/curve.h"

namespace penstock::allocator {
namespace {

// Floors often fill a resource exactly; rounding may make their sum exceed it.
constexpr double kFitTolerance = 1e-9;
// A smaller share of a capacity counts as 0.
constexpr double kNothing = 1e-12;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Capacity {
  std::string name;  // "cores", "pools[1]"
  double total = 0;
  double floors = 0;  // sum of the floors

  double free() const {
    if (total == kInfinity) return total;
    const double left = total - floors;
    return left > total * kNothing ? left : 0;
  }
};

std::vector<Capacity> capacities(const Problem& problem) {
  std::vector<Capacity> rows(kFirstPoolRow + problem.pools.size());
  rows[kCoresRow] = {"cores", problem.cores};
  const double ingest = problem.ingest_bytes_per_s;
  rows[kIngestRow] = {"ingest_bytes_per_s", ingest > 0 ? ingest : kInfinity};
  for (size_t i = 0; i < problem.pools.size(); ++i) {
    rows[kFirstPoolRow + i] = {fmt::format("pools[{}]", i), problem.pools[i]};
  }
  for (const Job& job : problem.jobs) {
    const double bytes_per_s = job.bytes_per_rate * job.floor;
    rows[kCoresRow].floors += cores_at(job.cores_curve, job.floor);
    rows[kIngestRow].floors += bytes_per_s;
    if (job.pool >= 0) rows[kFirstPoolRow + job.pool].floors += bytes_per_s;
  }
  return rows;
}

Error infeasible(std::string message) {
  return Error{Code::kInfeasible, 0, std::move(message)};
}

Status check_floors(const Problem& problem,
                    const std::vector<Capacity>& capacity) {
  for (const Job& job : problem.jobs) {
    const double cores = cores_at(job.cores_curve, job.floor);
    if (cores > job.max_cores * (1 + kFitTolerance)) {
      return infeasible(
          fmt::format("job {}: its floor needs {} cores, max_cores is {}",
                      job.id, cores, job.max_cores));
    }
  }
  for (const Capacity& row : capacity) {
    if (row.floors > row.total * (1 + kFitTolerance)) {
      return infeasible(fmt::format("{}: the floors need {}, there is {}",
                                    row.name, row.floors, row.total));
    }
  }
  return Done{};
}

// The highest rate of `job` if it had all free capacity.
double highest_rate_alone(const Job& job, const JobRows& rows,
                          const std::vector<Capacity>& capacity) {
  const double cores =
      cores_at(job.cores_curve, job.floor) + capacity[kCoresRow].free();
  double bytes_per_s = capacity[kIngestRow].free();
  if (job.pool >= 0)
    bytes_per_s = std::min(bytes_per_s, capacity[rows[2]].free());
  bytes_per_s += job.bytes_per_rate * job.floor;
  return std::max(job.floor, entitled_rate(job, cores, bytes_per_s));
}

// Rates at which the cost curve bends between the floor and `cap`, and `cap`.
std::vector<double> piece_ends(const Job& job, double cap) {
  std::vector<double> ends;
  for (const Job::Point& point : job.cores_curve) {
    if (point.rate > job.floor && point.rate < cap) ends.push_back(point.rate);
  }
  if (cap > job.floor) ends.push_back(cap);
  return ends;
}

ReducedJob reduce_job(const Job& job, const std::vector<Capacity>& capacity) {
  ReducedJob reduced;
  reduced.weight = job.weight;
  reduced.floor = job.floor;
  reduced.ceiling = job.ceiling;
  if (job.pool >= 0) reduced.rows[2] = kFirstPoolRow + job.pool;
  const auto share = [&](int row, double amount) {
    // If nothing is free, highest_rate_alone() leaves only pieces of cost 0.
    const double free = capacity[row].free();
    return free > 0 ? amount / free : 0;
  };
  const double pool_bytes = job.pool >= 0 ? job.bytes_per_rate : 0;
  const double cap = highest_rate_alone(job, reduced.rows, capacity);
  double start = job.floor;
  for (double end : piece_ends(job, cap)) {
    const double cores_per_rate = slope_above(job.cores_curve, start);
    reduced.pieces.push_back({start,
                              end,
                              {share(kCoresRow, cores_per_rate),
                               share(kIngestRow, job.bytes_per_rate),
                               share(reduced.rows[2], pool_bytes)}});
    start = end;
  }
  return reduced;
}

std::vector<bool> binding_rows(const std::vector<ReducedJob>& jobs,
                               size_t rows) {
  std::vector<double> use(rows, 0);
  for (const ReducedJob& job : jobs) {
    for (const Piece& piece : job.pieces) {
      for (size_t i = 0; i < job.rows.size(); ++i) {
        use[job.rows[i]] +=
            piece.use_per_rate[i] * (piece.end_rate - piece.start_rate);
      }
    }
  }
  std::vector<bool> can_bind(rows);
  for (size_t row = 0; row < rows; ++row) can_bind[row] = use[row] > 1;
  return can_bind;
}

}  // namespace

double entitled_rate(const Job& job, double cores, double bytes_per_s) {
  double rate = std::min(
      job.ceiling, rate_at(job.cores_curve, std::min(cores, job.max_cores)));
  if (job.bytes_per_rate > 0) {
    rate = std::min(rate, bytes_per_s / job.bytes_per_rate);
  }
  return rate;
}

Result<Reduced> reduce(const Problem& problem) {
  const std::vector<Capacity> capacity = capacities(problem);
  if (Status status = check_floors(problem, capacity); !status) {
    return status.error();
  }
  Reduced reduced;
  for (const Job& job : problem.jobs) {
    reduced.jobs.push_back(reduce_job(job, capacity));
  }
  reduced.can_bind = binding_rows(reduced.jobs, capacity.size());
  return reduced;
}

}  // namespace penstock::allocator
