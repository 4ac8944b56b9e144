#include <algorithm>

#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

double value_of(const Problem& problem, const std::vector<double>& rates,
                const Objective& objective) {
  double sum = 0;
  double least = rates.empty() ? 0 : rates[0] / problem.jobs[0].ceiling;
  for (size_t j = 0; j < rates.size(); ++j) {
    const Job& job = problem.jobs[j];
    least = std::min(least, rates[j] / job.ceiling);
    if (!objective.is_sum() || rates[j] <= 0) continue;
    sum += job.weight * objective.gain(rates[j], job.ceiling);
  }
  return objective.is_sum() ? sum : least;
}

}  // namespace

Result<Allocation> solve(const Problem& problem, Policy policy) {
  if (Status status = validate(problem); !status) return status.error();
  const Result<Reduced> reduced = reduce(problem);
  if (!reduced) return reduced.error();
  const Objective* objective = objective_of(policy);
  if (objective == nullptr) return invalid("the policy does not lend");
  const Result<std::vector<double>> rates = objective->solve(*reduced);
  if (!rates) return rates.error();
  Allocation allocation;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const double rate = (*rates)[j];
    allocation.grants.push_back({job.id, rate, cores_at(job.cores_curve, rate),
                                 job.bytes_per_rate * rate});
  }
  allocation.objective = value_of(problem, *rates, *objective);
  return allocation;
}

}  // namespace penstock::allocator
