#include "node_agent/plan/pool_parts.h"

#include <algorithm>

#include "common/policy.h"

namespace penstock {
namespace {

double bytes_per_share(const PlanInput& input, int pool) {
  const auto& of_pools = input.pool_bytes_per_share;
  return size_t(pool) < of_pools.size() ? of_pools[size_t(pool)] : 0;
}

}  // namespace

// docs/model.md: a job's part of a pool is bandwidth x its ranks / ranks of all
// the pool's jobs. Policy=even divides by jobs instead.
std::vector<double> pool_entitlements(const PlanInput& input) {
  std::vector<double> ranks(input.pools.size(), 0.0);
  const bool even = !lends(input.policy);
  auto share = [&](const PlanJob& job) {
    return even ? 1.0 : std::max<double>(1, job.shares);
  };
  for (const PlanJob& job : input.jobs) {
    if (job.pool >= 0 && !job.guest) ranks[job.pool] += share(job);
  }
  std::vector<double> entitled(input.jobs.size(), 0.0);
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const int pool = input.jobs[j].pool;
    if (pool < 0 || input.jobs[j].guest) continue;
    entitled[j] = input.pools[pool] * share(input.jobs[j]) / ranks[pool];
    if (!even && bytes_per_share(input, pool) > 0) {
      entitled[j] = bytes_per_share(input, pool) * share(input.jobs[j]);
    }
  }
  return entitled;
}

// The node's part of a shared pool may be older than a job. Floors are
// guarantees, so raise the part to the sum of the floors.
std::vector<double> pools_that_hold(const PlanInput& input,
                                    const std::vector<double>& entitled,
                                    const std::vector<double>& floor_bytes) {
  std::vector<double> least(input.pools.size(), 0.0);
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const PlanJob& job = input.jobs[j];
    if (job.pool < 0) continue;
    least[size_t(job.pool)] += job.pool_pressed ? entitled[j] : floor_bytes[j];
  }
  std::vector<double> pools = input.pools;
  for (size_t f = 0; f < pools.size(); ++f) {
    if (bytes_per_share(input, int(f)) > 0) {
      pools[f] = std::max(pools[f], least[f]);
    }
  }
  return pools;
}

// Divides a pool's unused bandwidth evenly, so that no limit throttles a job
// while bandwidth is unused. All guests together count as one job.
void share_bandwidth(const PlanInput& input,
                     const std::vector<double>& entitled, Plan& plan) {
  for (size_t pool = 0; pool < input.pools.size(); ++pool) {
    double spare = input.pools[pool];
    int residents = 0, guests = 0;
    for (size_t j = 0; j < input.jobs.size(); ++j) {
      if (input.jobs[j].pool != int(pool)) continue;
      spare -= plan.grants[j].bytes_per_s;
      ++(input.jobs[j].guest ? guests : residents);
    }
    const double part =
        std::max(0.0, spare) / std::max(1, residents + (guests > 0 ? 1 : 0));
    for (size_t j = 0; j < input.jobs.size(); ++j) {
      if (input.jobs[j].pool != int(pool)) continue;
      PlannedGrant& grant = plan.grants[j];
      grant.entitled_bytes_per_s = entitled[j];
      // 0 would be no limit.
      grant.bytes_per_s = input.jobs[j].guest ? std::max(1.0, part / guests)
                                              : grant.bytes_per_s + part;
    }
  }
}

void apply_user_bandwidth(const PlanInput& input, Plan& plan) {
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const double bound = double(input.jobs[j].max_bytes_per_s);
    PlannedGrant& grant = plan.grants[j];
    if (bound > 0 && (grant.bytes_per_s == 0 || grant.bytes_per_s > bound)) {
      grant.bytes_per_s = bound;
    }
  }
}

}  // namespace penstock
