// Applies plans to the kernel, and runs the control loop that sends loader
// units away and brings them home.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node_agent/cpu_idle.h"
#include "node_agent/job.h"
#include "node_agent/plan/latency.h"
#include "node_agent/plan/planner.h"
#include "node_agent/sampler.h"

namespace penstock {

// Whether Enforcer::tick() has something to do for the job: CPUs are lent to
// it, a unit is away, or one of a guest is not.
bool needs_ticks(Job& job);

class Enforcer {
 public:
  Enforcer(Backend& backend, const ProcReader& proc, const ThreadSched& sched,
           const Sampler& sampler, const std::vector<int>& core_of_cpu)
      : backend_(backend),
        proc_(proc),
        sched_(sched),
        sampler_(sampler),
        core_of_cpu_(core_of_cpu) {}

  // Sets CPUs, limits and hints of every job in the plan; all decreases precede
  // all increases. devices[i] is the block device of pool i ("": unknown).
  void apply(const Plan& plan, const std::vector<PlanJob>& planned,
             const std::vector<std::string>& devices,
             std::map<JobId, Job>& jobs);

  struct Tick {
    bool recalled = false;    // a CPU was returned to its owner
    bool lent_again = false;  // a returned CPU is used again
  };
  // Runs the control loop once for one job. Cheap if nothing is lent. Sends
  // threads away while send_left_ns lasts, and subtracts the time used.
  Tick tick(Job& job, double now_ms, double tick_ms, const CpuIdle& idle,
            uint64_t& send_left_ns);

  // Sends a guest's new task away before it runs its program, so that whatever
  // it starts gives way, too. The first one has all of the job's CPUs until the
  // next plan.
  // Errors: kUnavailable  it cannot give way on this machine
  Status take_in(Job& job, const Task& task);

  // Takes these CPUs from the job's away threads before it returns, without
  // moving a thread (0.1 ms). tick() later brings home threads that have no
  // lent CPU left. For a task that is about to exec on these CPUs.
  void vacate(Job& job, const CpuSet& cpus);

  // Writes the job's grant into the hint pages of its ranks; of an observed
  // job, that there is no hint.
  void publish_hints(Job& job);

  // Brings the unit home if it is away. Threads that cannot be moved stay away
  // until the next tick().
  void bring_home(Job& job, Unit& unit);

  // Brings all threads home and removes the job's groups and limits. find_home
  // finds the homes of threads that are in no unit.
  // Errors: kUnavailable  a group is still busy: sweep later.
  Status release(Job& job, const FindHome& find_home);

  const LatencyRecord& recall_latency() const { return recall_; }

 private:
  void leave(Job& job, const CpuSet& cpus);
  void set_away(Job& job, const CpuSet& cpus);
  void set_limit(Job& job, const std::string& device, uint64_t bytes_per_s);
  void send_away(Job& job, Unit& unit);
  void look_closer(std::span<const LoaderThread> threads,
                   UnitObservation& seen) const;
  AwayInput look(Job& job, double now_ms, double tick_ms, const CpuIdle& idle);

  Backend& backend_;
  const ProcReader& proc_;
  const ThreadSched& sched_;
  const Sampler& sampler_;
  const std::vector<int>& core_of_cpu_;
  LatencyRecord recall_;
};

}  // namespace penstock
