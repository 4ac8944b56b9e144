// Once a period: what each managed job used and achieved. What follows for its
// costs: correction.h.
#pragma once

#include "node_agent/job.h"

namespace penstock {

class Sampler {
 public:
  Sampler(const Backend& backend, const ProcReader& proc)
      : backend_(backend), proc_(proc) {}

  // Charges each loader thread's CPU time since the last call to home or away.
  // To be called before a unit moves, as soon as its process has ended (the
  // kernel keeps its time until its parent asks how it ended), before a scan,
  // which drops who is gone, and by sample().
  void account(Unit& unit, Totals& totals) const;

  // Appends the period to the job's course as well.
  // device: of the job's pool, "" without one. period_s: since the last call.
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
