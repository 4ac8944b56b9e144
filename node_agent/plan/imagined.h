// The loans that observed jobs would have had. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "node_agent/plan/dropped_loans.h"
#include "node_agent/plan/planner.h"
#include "report/would_have.h"

namespace penstock {

struct ImaginedLoans {
  double borrowed_cores = 0;  // expected from other jobs' and idle CPUs
  double lent_cores = 0;      // expected use of its CPUs by other jobs
};

// By job id; jobs without a loan are left out.
//   input     of the node as if Penstock acted for every job
//   may_lend  as for real loans
// Errors: as make_plan().
[[nodiscard]] Result<std::map<uint64_t, ImaginedLoans>> imagine_loans(
    const PlanInput& input, const MayLend& may_lend);

// Sums over the time in which a job was observed.
class ImaginedTotals {
 public:
  // seconds: under these loans.
  void add(const ImaginedLoans& loans, double seconds);

  bool empty() const { return observed_s_ <= 0; }
  double observed_s() const { return observed_s_; }
  double borrowed_core_s() const { return borrowed_core_s_; }
  double lent_core_s() const { return lent_core_s_; }
  // The time by the borrowed cores, in steps of kStepCores.
  std::vector<TimeWithLoan> times() const;

  static constexpr double kStepCores = 0.1;

 private:
  double observed_s_ = 0;
  double borrowed_core_s_ = 0;
  double lent_core_s_ = 0;
  std::map<int, double> seconds_of_steps_;
};

}  // namespace penstock
