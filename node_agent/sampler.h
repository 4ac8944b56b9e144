// Measures once a period what each managed job used and achieved. correction.h
// derives its costs.
#pragma once

#include "node_agent/job.h"

namespace penstock {

class Sampler {
 public:
  Sampler(const Backend& backend, const ProcReader& proc)
      : backend_(backend), proc_(proc) {}

  // Charges the CPU time of the unit's threads since the last call to home or
  // away. Call it
  //   - before a unit moves,
  //   - when its process has exited: the kernel keeps the counters until the
  //     parent waits for the process,
  //   - before a scan, which drops ended threads.
  // sample() calls it too.
  void account(Unit& unit, Totals& totals) const;

  // Takes a sample, and appends the period to the job's course. device: of the
  // job's pool; "": none. period_s: time since the last call.
  void sample(Job& job, const std::string& device, double period_s,
              uint64_t now_ns) const;

 private:
  void read_pages(Job& job) const;
  void read_pressure(Job& job) const;
  void look_at_states(Job& job, double period_s) const;
  Counters count(Job& job, const std::string& device, uint64_t now_ns) const;
  void observe(Job& job, const Counters& now) const;
  void tell_course(Job& job, const Counters& now,
                   const Observation& seen) const;
  void watch_contradictions(Job& job, const Counters& now) const;

  const Backend& backend_;
  const ProcReader& proc_;
};

}  // namespace penstock
