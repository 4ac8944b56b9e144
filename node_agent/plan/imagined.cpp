#include "node_agent/plan/imagined.h"

#include <cmath>

namespace penstock {

Result<std::map<uint64_t, ImaginedLoans>> imagine_loans(
    const PlanInput& input, const MayLend& may_lend) {
  Result<Plan> plan = make_plan(input);
  if (!plan) return std::move(plan).error();
  drop_loans(*plan, may_lend);
  std::map<uint64_t, ImaginedLoans> loans;
  for (const PlannedGrant& grant : plan->grants) {
    if (grant.away_cpus.empty()) continue;
    loans[grant.id].borrowed_cores = grant.away_cores;
    const double of_each = grant.away_cores / double(grant.away_cpus.size());
    for (const int cpu : grant.away_cpus.cpus()) {
      const auto lender = plan->lender_of_cpu.find(cpu);
      if (lender == plan->lender_of_cpu.end() || lender->second == 0) continue;
      loans[lender->second].lent_cores += of_each;
    }
  }
  return loans;
}

void ImaginedTotals::add(const ImaginedLoans& loans, double seconds) {
  if (!(seconds > 0)) return;
  observed_s_ += seconds;
  borrowed_core_s_ += loans.borrowed_cores * seconds;
  lent_core_s_ += loans.lent_cores * seconds;
  const auto step = int(std::lround(loans.borrowed_cores / kStepCores));
  seconds_of_steps_[step] += seconds;
}

std::vector<TimeWithLoan> ImaginedTotals::times() const {
  std::vector<TimeWithLoan> times;
  for (const auto& [step, seconds] : seconds_of_steps_) {
    times.push_back({step * kStepCores, seconds});
  }
  return times;
}

}  // namespace penstock
