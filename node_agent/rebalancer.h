// Plans the node from the jobs' records, puts the plan in force, and decides
// when the records have changed enough for another plan.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "node_agent/control_loop.h"
#include "node_agent/controller_connection.h"
#include "node_agent/gpu_watch.h"
#include "node_agent/node.h"
#include "node_agent/plan/planner.h"
#include "node_agent/pool_devices.h"

namespace penstock {

class Rebalancer {
 public:
  Rebalancer(Node& node, Enforcer& enforcer, ControlLoop& control_loop,
             const PoolDevices& pools, const GpuWatch& gpus,
             ControllerConnection& controllers)
      : node_(node),
        enforcer_(enforcer),
        control_loop_(control_loop),
        pools_(pools),
        gpus_(gpus),
        controllers_(controllers) {}

  // since_ns: time of the event that caused this plan; 0: do not measure.
  void rebalance(GrantCause cause, uint64_t since_ns = 0);

  // Asks for a plan at the end of the event loop's turn. A turn makes one plan,
  // with the last of its causes in the order of GrantCause, and measured from
  // the earliest event.
  void request(GrantCause cause, uint64_t since_ns = 0);
  // Makes the plan if one was asked for. Call at the end of each turn.
  void rebalance_if_requested();

  // Whether the last plan's jobs hold or borrow some of these CPUs. A task of
  // an unmanaged job on other CPUs changes only which CPUs are idle, and the
  // next sample looks at these.
  bool concerns(const CpuSet& cpus) const {
    return !(planned_cpus_ & cpus).empty();
  }

  // As rebalance(), for a change of measured limits, which users control:
  // within the minimum interval, the next sample plans instead. Returns false
  // if so.
  bool rebalance_for_limits();

  // The same if a figure has changed enough.
  void rebalance_if_changed();

  // After a sample: completes the records of grant changes, looks whether loans
  // harm their lenders, and plans again where needed.
  void after_sample(uint64_t now_ns);

  // Credits lenders with the CPU time that borrowers used since the last call.
  void credit_loans();

 private:
  bool may_plan() const;  // the minimum interval has passed
  bool is_outdated() const;
  // lender: 0 for an idle CPU.
  bool may_lend(uint64_t lender, const PlanJob& planned);
  void note_missing(const PlanInput& input, const PlanJob& planned,
                    Job& job) const;
  void watch_lenders(uint64_t now_ns);
  void lift_limits_of_observed(const PlanInput& input, Plan& plan) const;
  void imagine();

  Node& node_;
  Enforcer& enforcer_;
  ControlLoop& control_loop_;
  const PoolDevices& pools_;
  const GpuWatch& gpus_;
  ControllerConnection& controllers_;

  struct Request {
    GrantCause cause;
    uint64_t since_ns;  // 0: do not measure
  };
  std::optional<Request> request_;

  // Inputs of the last plan, and the loans that it made.
  std::map<JobId, PlanJob> planned_;
  CpuSet planned_cpus_;  // held or lent
  CpuSet planned_idle_;
  BarredLenders planned_barred_;
  std::map<int, uint64_t> lender_of_cpu_;
  uint64_t planned_ns_ = 0;
  bool limits_changed_ = false;  // the next sample plans for the new limits
};

}  // namespace penstock
