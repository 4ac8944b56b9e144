// penstockd's record of a job on its node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol.h"
#include "node_agent/job_state.h"
#include "node_agent/plan/course.h"
#include "node_agent/plan/imagined.h"
#include "node_agent/plan/launch_watch.h"
#include "node_agent/plan/not_lent.h"
#include "node_agent/plan/planner.h"
#include "node_agent/task.h"
#include "node_agent/totals.h"
#include "report/metrics.h"
#include "report/report.h"

namespace penstock {

// The job's figures at the time when most of its tasks ran. The report needs
// them because it is written after parts of the job have ended.
struct Widest {
  uint32_t tasks = 0;
  CpuSet cpus;
  double reserve_cores = 0;
  PlannedGrant grant;
  bool elastic = false;
  CpuSet task_cpus;  // of the tasks that can hold a rank
  Launch launch = Launch::kUnknown;
};

struct Job;

// Moves a thread's charges from the loader to the trainer, after the thread has
// turned out to be the trainer's.
void charge_trainer(Job& job, const LoaderThread& thread);

// Adds what the task's ranks have reported.
void add_pages(const Task& task, PageSums& sums);

struct RecentRate {
  double time_s = 0;
  double rate = 0;  // samples/s over the observation that ended at time_s
};

// Which of a job's processes have asked for pages.
struct Greetings {
  bool program = false;  // a program that uses Penstock
  bool hook = false;     // the hook in another program
  bool refused = false;  // the hook, while Watch=off
};

struct Job {
  JobId id = 0;
  uid_t uid = 0;
  bool managed = false;
  bool observed = false;       // changed in nothing; see Node::acts_for()
  bool was_acted_for = false;  // in a part of its run
  bool guest = false;          // gives way to all others; see Node::settle()
  bool stopped = false;        // suspended; see note_stopped()
  penstock_wire_options options{};
  std::string name;
  double started_unix_s = 0;
  uint64_t started_ns = 0;
  uint64_t idle_since_ns = 0;   // when its last task ended
  std::map<pid_t, Task> tasks;  // by the pid of the task's first process
  std::optional<MeasuredLimit> measured_limit;

  JobCosts costs;
  TrainerUse trainer;
  LoaderUse loader;
  PoolReads reads;
  Sharing sharing;
  PlannedGrant grant;
  MissingCores missing;
  Loan loan;
  Lending lending;
  // While it is observed, and Penstock is not switched off.
  std::optional<ImaginedLoans> imagined;
  ImaginedTotals imagined_totals;
  std::optional<WouldHave> would_have;  // as last estimated

  PageSums ended;  // sums of exited tasks
  Widest widest;
  Counters last;
  std::deque<RecentRate> rates;  // of the last minute
  Course course;
  GpuUse gpu_use;             // what its GPUs do, as far as that is known
  bool is_idle = false;       // it used less than 0.05 cores in the last period
  Pressure pressure_counter;  // the kernel's counters at the last sample
  double cpu_counter_s = 0;   // likewise
  Totals totals;
  Totals sampled;           // at the last sample; a period uses the difference
  uint64_t sampled_ns = 0;  // CLOCK_MONOTONIC; until the first: start
  LaunchWatch launch_watch;
  GrantHistory changes;
  JobCounters told;  // counters in the last metrics
  DataQuality quality;
  Greetings greetings;
  std::vector<std::string> notes;
  // CLOCK_MONOTONIC; when controllers get its next report; 0: not chosen yet.
  uint64_t hand_in_ns = 0;
  // Training samples when its user got a line on its report.
  std::optional<uint64_t> noticed_samples;

  // Adds a note to the report, once, within the report's limit. Returns false
  // if the note exists or the limit is reached. Callers log only on true, so
  // that each text is logged once.
  bool note(const std::string& text);
  // Records the result of is_stopped(). A change clears known_since_ns: a
  // process stopped between fork and exec looks like its parent for the whole
  // stop.
  void note_stopped(bool is_stopped);
  // Restarts the measurement of the trainer reserve. The old reserve stays in
  // use until the next sample; a plan without it would lend the trainer's CPUs.
  void forget_trainer_use();
  // Tasks that can hold a rank: without a batch script that has started steps.
  uint32_t task_count() const;
  uint32_t reporting_ranks() const;  // ranks that reported within the last 30 s
  // The reporting ranks, or one per task if none reports; at least 1.
  uint32_t ranks() const;
  // The ranks that count for the job's weight and its part of a pool. Limited
  // by its CPUs and by the larger of its tasks and GPUs, however many processes
  // report.
  uint32_t shares() const;
  void note_widest();      // call while the job's tasks run
  PageSums pages() const;  // of running and ended tasks
  CpuSet cpus() const;
  // Of the tasks that can hold a rank: a step may have fewer than the script.
  CpuSet task_cpus() const;
  Launch launch() const;
  std::vector<Unit*> units();
  CpuSet gpus() const;  // of the tasks, by Slurm's numbers
  // Whether a rank of a running task is such a one.
  template <class IsSuch>
  bool any_rank(const IsSuch& is_such) const {
    return std::any_of(tasks.begin(), tasks.end(), [&](const auto& task) {
      const std::vector<Rank>& ranks = task.second.ranks;
      return std::any_of(ranks.begin(), ranks.end(), is_such);
    });
  }
  bool reports() const;   // a progress page holds valid data
  bool elastic() const;   // can run more loader threads than it does
  bool is_apart() const;  // a task has separate loader CPUs
};

// The job's mean rate over the last `seconds`, samples/s of all ranks. nullopt:
// no page, or no observation in that time.
std::optional<double> recent_rate(const Job& job, double now_s, double seconds);

// The 95th percentile of the cores used by the trainer in the last minute's
// samples. For a job with a profile: the profile's figure, until 5 samples
// exist.
double trainer_reserve_cores(const Job& job);

}  // namespace penstock
