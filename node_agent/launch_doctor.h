// Looks every few seconds at what the jobs do, for mistakes in how they were
// started (plan/launch_watch.h).
#pragma once

#include <map>

#include "node_agent/cpu_idle.h"
#include "node_agent/gpu_watch.h"
#include "node_agent/node.h"
#include "node_agent/read_watch.h"

namespace penstock {

class LaunchDoctor {
 public:
  LaunchDoctor(Node& node, const GpuWatch& gpus, ReadWatch& reads)
      : node_(node), gpus_(gpus), reads_(reads) {}

  // Call after each sample.
  void look(uint64_t now_ns);

  // Looks for killed processes alone. Call before a task's record is removed.
  void look_at_end(Job& job) const;

 private:
  // Counters of a job at the window's begin.
  struct Begin {
    uint64_t time_ns = 0;
    Totals totals;
    PageCounters pages;
    std::map<pid_t, double> used_s;  // by loader thread
    std::optional<double> user_s;    // the job's CPU time outside of the kernel
  };

  void look_at(Job& job, uint64_t now_ns);
  std::optional<double> user_s(const Job& job) const;
  LaunchWindow window_of(const Job& job, const Begin& begin, const Begin& now);
  double outside_cores(const Job& job, double user_cores,
                       double lent_cores) const;
  bool shares_cpus(const Job& job) const;
  void add_memory(const Job& job, LaunchWindow& window) const;
  void add_reads(const Job& job, LaunchWindow& window);

  Node& node_;
  const GpuWatch& gpus_;
  ReadWatch& reads_;
  std::map<JobId, Begin> begins_;
  std::optional<CpuIdle> idle_;
  uint64_t looked_ns_ = 0;
};

}  // namespace penstock
