#include "node_agent/plan/not_lent.h"

namespace penstock {
namespace {

// Smaller amounts are not lent (docs/model.md).
constexpr double kLeastCores = 0.05;
// A job that is granted this share of its bandwidth's rate is bound by it.
constexpr double kBound = 0.97;

bool is_bound_by_storage(const JobNeeds& needs, const PlanJob& job,
                         const PlannedGrant& grant) {
  const double limit =
      job.max_bytes_per_s > 0 ? double(job.max_bytes_per_s) : grant.bytes_per_s;
  return limit > 0 && grant.rate * needs.bytes_per_rate >= kBound * limit;
}

}  // namespace

MissingCores missing_cores(const PlanInput& input, const PlanJob& job,
                           const PlannedGrant& grant) {
  const JobNeeds needs = needs_of(job);
  const double has = grant.home_cores + grant.away_cores;
  const double missing = needs.ceiling * needs.cores_per_rate - has;
  if (job.stopped || job.guest || missing < kLeastCores) return {};
  const auto why = [&] {
    if (job.on_entitlement) return NotLent::kContradiction;
    if (!lends(input.policy)) return NotLent::kPolicy;
    if (job.home_cpus != job.own_cpus) return NotLent::kSharedCpus;
    if (has > needs.max_cores - kLeastCores) return NotLent::kThreads;
    if (is_bound_by_storage(needs, job, grant)) return NotLent::kStorage;
    return NotLent::kNoCpus;
  };
  return {missing, why()};
}

}  // namespace penstock
