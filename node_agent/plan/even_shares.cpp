#include "node_agent/plan/even_shares.h"

#include <algorithm>
#include <map>

namespace penstock {
namespace {

using allocator::Allocation;
using allocator::Problem;

// Steps of the bisection; the remaining range is a rounding error.
constexpr int kHalvings = 60;
// Tolerance for sums of the same numbers in another order.
constexpr double kClose = 1 + 1e-9;

double cores_per_rate(const allocator::Job& job) {
  const allocator::Job::Point& point = job.cores_curve.back();
  return point.cores / point.rate;
}

double rate_of(const allocator::Job& job, double wanted) {
  const double most =
      std::min(job.ceiling, job.max_cores / cores_per_rate(job));
  return std::clamp(wanted, job.floor, std::max(job.floor, most));
}

struct Amounts {
  double cores = 0;
  std::map<int, double> bytes_per_s;  // by pool

  void add(const Allocation::Grant& grant, int pool) {
    cores += grant.cores;
    if (pool >= 0) bytes_per_s[pool] += grant.bytes_per_s;
  }
  bool fits_in(const Amounts& given) const {
    return cores <= given.cores * kClose &&
           std::all_of(bytes_per_s.begin(), bytes_per_s.end(),
                       [&](const auto& of_pool) {
                         return of_pool.second <=
                                given.bytes_per_s.at(of_pool.first) * kClose;
                       });
  }
};

// The job's grant if each of its ranks has this rate.
Allocation::Grant grant_at(const allocator::Job& job, double rank_rate,
                           double ranks) {
  const double rate = rate_of(job, rank_rate * ranks);
  return {job.id, rate, rate * cores_per_rate(job), rate * job.bytes_per_rate};
}

}  // namespace

void even_out(const Problem& problem, const std::vector<Sharer>& sharers,
              Allocation& answer) {
  Amounts given;
  double low = 0, high = 0;  // bounds of the common rate of a rank
  for (const Sharer& sharer : sharers) {
    const Allocation::Grant& grant = answer.grants[sharer.job];
    given.add(grant, problem.jobs[sharer.job].pool);
    high = std::max(high, grant.rate / sharer.ranks);
  }
  const auto fits = [&](double rank_rate) {
    Amounts wanted;
    for (const Sharer& sharer : sharers) {
      const allocator::Job& job = problem.jobs[sharer.job];
      wanted.add(grant_at(job, rank_rate, sharer.ranks), job.pool);
    }
    return wanted.fits_in(given);
  };
  if (fits(high)) low = high;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  for (const Sharer& sharer : sharers) {
    answer.grants[sharer.job] =
        grant_at(problem.jobs[sharer.job], low, sharer.ranks);
  }
}

}  // namespace penstock
