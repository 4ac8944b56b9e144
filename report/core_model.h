// The rate of a job at its numbers of CPUs, from its what-if curve and the
// cores that its trainers take. Pure.
#pragma once

#include <optional>

#include "report/report.h"

namespace penstock {

class CoreModel {
 public:
  using Rate = double Estimate::*;  // of the curve: value, low or high

  static constexpr int kMostPerTask = 4096;  // limit of the options

  // nullopt: the report tells too little. The report must outlive the model.
  static std::optional<CoreModel> of(const JobReport& report);

  double here_rate() const { return *curve_.here_rate; }
  double tasks() const { return double(report_.tasks); }
  int cpus() const;       // of a task
  int most_cpus() const;  // that a task can have on the node
  double all_cpus() const { return cpus() * tasks(); }

  // Cores of the trainers at this rate.
  double trainer(double rate) const;

  // The rate with this number of loader cores.
  double rate_at(double cores, Rate end) const;
  // The least number of loader cores for this rate; the curve's end if none is
  // enough.
  double cores_for(double rate, Rate end) const;

  // Loader cores that the trainers leave of this many CPUs.
  double loader_cores(double cpus, Rate end) const;
  // cpus: of all tasks.
  double rate_with(double cpus, Rate end) const {
    return rate_at(loader_cores(cpus, end), end);
  }

  // Loader cores in use now, while the job trains.
  double used() const { return cores_for(here_rate(), &Estimate::value); }
  double threads() const { return report_.cores.loader_threads.value_or(0); }
  // Whether it had more CPUs than its own.
  bool was_lent() const;
  // Loader cores that the threads of this job can use, whatever CPUs it has.
  double usable() const;

  // Cores that one loader thread uses. While the job is starved, its threads
  // always work. Those that use less than a core then sleep; behind others'
  // backs on a saturated CPU they would not.
  double cores_of_thread() const;
  // Loader threads that use this number of cores, of the whole job.
  double threads_for(double cores) const { return cores / cores_of_thread(); }

  // Whether threads sleep and nobody knows that more of them would get more.
  bool is_bound_by_storage() const;

 private:
  explicit CoreModel(const JobReport& report)
      : report_(report), curve_(*report.what_if) {}
  // Whether the job uses all CPUs that it has, lent ones included.
  bool is_saturated() const;

  const JobReport& report_;
  const WhatIfCurve& curve_;
};

}  // namespace penstock
