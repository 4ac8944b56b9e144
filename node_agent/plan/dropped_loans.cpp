#include "node_agent/plan/dropped_loans.h"

#include <algorithm>

namespace penstock {

void drop_loans(Plan& plan, const MayLend& may_lend) {
  std::set<int> dropped;
  for (size_t i = 0; i < plan.grants.size(); ++i) {
    PlannedGrant& grant = plan.grants[i];
    const size_t before = grant.away_cpus.size();
    for (const auto& [cpu, lender] : plan.lender_of_cpu) {
      if (!grant.away_cpus.contains(cpu) || may_lend(lender, i)) continue;
      grant.away_cpus = grant.away_cpus - CpuSet({cpu});
      dropped.insert(cpu);
    }
    const size_t lost = before - grant.away_cpus.size();
    if (lost == 0) continue;
    grant.away_cores *= double(grant.away_cpus.size()) / double(before);
    // The hint may count fewer threads than CPUs were dropped: CPUs are lent as
    // whole cores, but the thread limit need not fill them.
    grant.loader_threads =
        grant.loader_threads > lost ? grant.loader_threads - uint32_t(lost) : 1;
  }
  for (int cpu : dropped) {
    const bool is_lent = std::any_of(
        plan.grants.begin(), plan.grants.end(),
        [cpu](const PlannedGrant& it) { return it.away_cpus.contains(cpu); });
    if (!is_lent) plan.lender_of_cpu.erase(cpu);
  }
}

}  // namespace penstock
