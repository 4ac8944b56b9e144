#include <algorithm>
#include <cmath>

#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/reduced.h"

namespace penstock::allocator {
namespace {

Result<std::vector<double>> solve_reduced(const Reduced& reduced,
                                          Objective objective) {
  switch (objective) {
    case Objective::kThroughput:
      return solve_throughput(reduced);
    case Objective::kFair:
      return solve_fair(reduced);
    case Objective::kMaxMin:
      return solve_max_min(reduced);
  }
  return invalid("objective is none of kThroughput, kFair, kMaxMin");
}

double value_of(const Problem& problem, const std::vector<double>& rates,
                Objective objective) {
  double sum = 0;
  double least = rates.empty() ? 0 : rates[0] / problem.jobs[0].ceiling;
  for (size_t j = 0; j < rates.size(); ++j) {
    const Job& job = problem.jobs[j];
    if (objective == Objective::kThroughput) {
      sum += job.weight * rates[j] / job.ceiling;
    } else if (objective == Objective::kFair && rates[j] > 0) {
      sum += job.weight * std::log(rates[j]);
    }
    least = std::min(least, rates[j] / job.ceiling);
  }
  return objective == Objective::kMaxMin ? least : sum;
}

}  // namespace

Result<Allocation> solve(const Problem& problem, Objective objective) {
  if (Status status = validate(problem); !status) return status.error();
  const Result<Reduced> reduced = reduce(problem);
  if (!reduced) return reduced.error();
  const Result<std::vector<double>> rates = solve_reduced(*reduced, objective);
  if (!rates) return rates.error();
  Allocation allocation;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const double rate = (*rates)[j];
    allocation.grants.push_back({job.id, rate, cores_at(job.cores_curve, rate),
                                 job.bytes_per_rate * rate});
  }
  allocation.objective = value_of(problem, *rates, objective);
  return allocation;
}

}  // namespace penstock::allocator
