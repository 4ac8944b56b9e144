#include "node_agent/plan/guest_loans.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// A guest has no reserve: no CPU of its own is kept for a trainer.
double own_cores(const PlanJob& guest) {
  return double(guest.home_cpus.size());
}

}  // namespace

double guest_wish(const PlanJob& guest) {
  const double own = own_cores(guest);
  if (guest.stopped || guest.on_entitlement) return own;
  const double most = guest.max_threads > 0 ? guest.max_threads : 1e9;
  return std::max(own, std::min(2 * guest.used_loader_cores + 1, most));
}

allocator::RoundingInput rounding_for_guests(
    const PlanInput& input, const std::vector<size_t>& guests,
    const CpuSet& lent, allocator::RoundingInput residents) {
  allocator::RoundingInput rounding = std::move(residents);
  rounding.idle_cpus = input.idle_cpus - lent;
  for (allocator::RoundingJob& job : rounding.jobs) {
    const bool is_barred = input.barred.to_guests.contains(job.id);
    job.home_cpus = is_barred ? CpuSet() : job.home_cpus - lent;
    const double left = double(job.home_cpus.size()) - job.reserve_cores;
    job.granted_cores = std::clamp(job.granted_cores, 0.0, std::max(0.0, left));
  }
  for (size_t j : guests) {
    const PlanJob& job = input.jobs[j];
    allocator::RoundingJob entry;
    entry.id = job.id;
    entry.granted_cores = guest_wish(job) - own_cores(job);
    entry.loader_threads = 4096;  // their number is no limit
    rounding.jobs.push_back(std::move(entry));
  }
  return rounding;
}

}  // namespace penstock
