// penstockd's records of the tasks and jobs on its node.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cgroup/backend.h"
#include "common/protocol.h"
#include "common/unique_fd.h"
#include "node_agent/delay_probe.h"
#include "node_agent/pages.h"
#include "node_agent/plan/attribution.h"
#include "node_agent/plan/away_policy.h"
#include "node_agent/plan/classifier.h"
#include "node_agent/plan/course.h"
#include "node_agent/plan/lender_watch.h"
#include "node_agent/plan/planner.h"
#include "node_agent/trainer_delay.h"
#include "predictor/predictor.h"
#include "predictor/profile.h"
#include "report/metrics.h"
#include "report/report.h"

namespace penstock {

// A thread's contributions to Totals::home_cpu_s, away_cpu_s, home_delay_s.
struct Charge {
  double home_s = 0;
  double away_s = 0;
  double home_delay_s = 0;
};

// One thread of a loader unit, with the home to which it returns.
struct LoaderThread {
  Home home;
  SchedstatFile schedstat;
  SchedStat ticked;     // at the control loop's last tick
  SchedStat accounted;  // at the last accounting
  // Opened when the thread's state is first sampled.
  std::optional<ThreadStatFile> stat = std::nullopt;
  Charge charged;
  Charge sampled;  // at the last sample
};

struct Unit {
  int id = 0;  // tid of its first thread
  pid_t pid = 0;
  bool in_order = false;  // a worker process
  bool away = false;
  std::vector<LoaderThread> threads;
};

// One trainer process and its pages. torchrun starts several trainer processes
// in one Slurm task.
struct Rank {
  TaskPages pages;
  TaskId writer;                     // process that writes the progress page
  std::optional<Progress> progress;  // the last reading
  bool gone = false;  // the writer has ended; another may take over

  // Reads the progress page into `progress`. batch: samples per step, for pages
  // that count only steps; 0: unknown. Returns false if the page holds no (new)
  // data.
  bool read(uint32_t batch, TaskPages::Clock clock_ns = monotonic_ns);
};

struct Task {
  penstock_task_start start{};
  TaskId id;
  UniqueFd pidfd;
  uint64_t exit_seen_ns = 0;   // by the proc connector; the pidfd decides
  Home home;                   // of its first process, at registration
  CpuSet loader_cpus;          // without the trainer; empty: not separate
  std::string accounted_path;  // JobGroups::accounted
  std::vector<Rank> ranks;
  std::set<int> registered_tids;
  std::set<int> greeting_pids;
  std::set<int> trainer_pids;  // multiprocessing's, had loader processes
  // Processes of the last scan, and the time (CLOCK_MONOTONIC) since which each
  // is known. Cleared when the job is stopped or continued.
  std::map<pid_t, uint64_t> known_since_ns;
  bool look_again = false;  // the last scan could not identify a trainer
  std::vector<Unit> units;
  // Living threads that the last scan no longer found to be loaders. A thread
  // that is found again continues with its counters. Cleared at the next
  // sample.
  std::map<pid_t, LoaderThread> dropped;
  std::set<pid_t> processes;  // as of the last scan
};

// The task's worker processes, which are loaders as a whole.
std::set<pid_t> loader_processes(const Task& task);

// Slurm's step id of a batch script (slurm.h). A script that starts its own
// steps only waits for them.
inline constexpr uint32_t kBatchStep = 0xfffffffb;
bool is_batch(const Task& task);

// Sums over the progress pages of a job's ranks.
struct PageSums {
  double ranks = 0;
  uint64_t first_ns = 0;  // the earliest start of watching
  uint64_t last_ns = 0;   // the newest update
  double samples = 0;
  double active_s = 0;  // from the start of watching to the last update
  double wait_s = 0;
  double fetch_s = 0;
  double prep_s = 0;
  double exchange_s = 0;
  double bytes = 0;
  double cached = 0;
  double cached_bytes = 0;
  double peer = 0;  // part of cached: from other nodes
  double peer_bytes = 0;
  double prepared = 0;
  double held_share = 0;    // cached share of the data set, as in the
  double held_samples = 0;  // last page that reports it
  bool replaying = false;

  void add(const Progress& page);
  // Mean number of ranks that reported at the same time, at least 1. Ranks may
  // start late, end early, or follow each other.
  double ranks_at_once() const;
};

// The job's figures at the time when most of its tasks ran. The report needs
// them because it is written after parts of the job have ended.
struct Widest {
  uint32_t tasks = 0;
  CpuSet cpus;
  double reserve_cores = 0;
  PlannedGrant grant;
  bool elastic = false;
};

// Running totals since the job was first seen.
struct Totals {
  double home_cpu_s = 0;    // loader threads at home
  double away_cpu_s = 0;    // loader threads away
  double home_delay_s = 0;  // run delay of loader threads at home
  double lent_cpu_s = 0;    // used by other jobs' away threads on its CPUs
  double credited_away_cpu_s = 0;  // part of away_cpu_s credited to lenders
  LoaderTime loader;               // blocked_s: only if Job::watches_states
  WaitSplit by_kernel;      // split of the waiting time, summed over ranks
  double job_cpu_s = 0;     // the whole job
  double contention_s = 0;  // see contention_s(), summed over the ranks
  double granted_home_core_s = 0;
  double granted_away_core_s = 0;
  double granted_bytes = 0;  // integral of the bandwidth limit
  double read_bytes = 0;     // meaningful if Job::knows_bytes
  std::optional<Pressure> pressure;
  std::optional<double> gpu_busy_s;  // averaged over the job's GPUs
};

// CPU time used between two readings of Totals, in seconds. home + away +
// trainer is the whole.
struct CpuUse {
  // CPU time of loader threads at home and away.
  double home_s = 0;
  double away_s = 0;
  std::optional<double> trainer_s;  // nullopt: the job's CPU time is unknown

  double loader_s() const { return home_s + away_s; }
};

// CPU time from the earlier to the later reading. The trainer's part is unknown
// if `earlier` has no reading of the job's CPU time (job_cpu_s is 0).
CpuUse cpu_use(const Totals& earlier, const Totals& later);

// Counters of the whole job at one time, for differences.
struct Counters {
  uint64_t time_ns = 0;
  uint64_t updated_ns = 0;  // the newest update of its pages
  double samples = 0;
  double prepared = 0;
  double cached_bytes = 0;
  double wait_s = 0;
  double exchange_s = 0;
  double delay_s = 0;
  double fetch_s = 0;
  double prep_s = 0;
  LoaderTime loader;
  double read_bytes = 0;
  double loader_cpu_s = 0;
  double home_cpu_s = 0;  // part of loader_cpu_s: at home
  double job_cpu_s = 0;
};

// How long the trainers waited for a CPU that their own loader used, between
// two readings, summed over the ranks. It is the run delay in the pages. The
// loader's CPU time at home limits it, and so does busy_s, the time not spent
// waiting for data or the exchange. Away threads and other jobs do not count.
double contention_s(const Counters& earlier, const Counters& later,
                    double busy_s);

struct Job;

// Moves a thread's charges from the loader to the trainer, after the thread has
// turned out to be the trainer's.
void charge_trainer(Job& job, const LoaderThread& thread);

struct RecentRate {
  double time_s = 0;
  double rate = 0;  // samples/s over the observation that ended at time_s
};

// Limits that the job requested for a measurement, until they expire.
struct MeasuredLimit {
  uint32_t millicores = 0;   // per rank; 0: none
  uint64_t bytes_per_s = 0;  // per rank; 0: none
  // CLOCK_MONOTONIC; each repeated request renews it.
  uint64_t lapses_ns = 0;
};

struct Job {
  JobId id = 0;
  uid_t uid = 0;
  bool managed = false;
  bool stopped = false;  // suspended; see note_stopped()
  penstock_wire_options options{};
  std::string name;
  double started_unix_s = 0;
  uint64_t started_ns = 0;
  uint64_t idle_since_ns = 0;   // when its last task ended
  std::map<pid_t, Task> tasks;  // by the pid of the task's first process
  PageSums ended;               // sums of exited tasks
  Widest widest;
  // The most trusted rule that has identified its loader.
  LoaderEvidence evidence = LoaderEvidence::kNone;

  std::optional<Profile> profile;
  std::optional<Prediction> prior;      // from the profile, per rank
  std::optional<Prediction> corrected;  // with measured costs, per rank
  // Costs measured together with the jobs that share its batches. Used while
  // its own window may contain none.
  MeasuredCosts learnt_sharing;
  std::optional<Estimate> first_corrected_ceiling;  // after the first 10 s
  Corrector corrector;
  Counters last;
  std::deque<RecentRate> rates;  // of the last minute
  Course course;
  // The trainer waits, and the loader does not report its times: sample the
  // states of the loader's threads each period.
  bool watches_states = true;
  // Share of the time in which its GPUs are busy; nullopt: unknown.
  std::optional<double> gpu_busy;
  std::vector<double> trainer_cores;  // per period, for the reserve
  double held_reserve_cores = 0;      // used while trainer_cores is empty
  double used_loader_cores = 0;
  // Cores that the trainer would use in addition if its loader did not compete
  // with it.
  double crowded_cores = 0;
  TrainerDelay trainer_delay;
  // In the last period: its loader threads at home waited for a CPU (starved);
  // it used less than 0.05 cores (is_idle).
  bool starved = false;
  bool is_idle = false;
  // The kernel counts the bytes read from its pool, or its pages report them.
  bool knows_bytes = false;
  bool kernel_counts_bytes = false;
  double read_bytes_per_s = 0;     // in the last period
  double io_counter_bytes = 0;     // the kernel's count at the last sample
  Pressure pressure_counter;       // the kernel's counters at the last sample
  uint64_t limit_bytes_per_s = 0;  // in force; 0: none
  std::string limit_device;        // the limited device
  bool pool_pressed = false;
  bool contradicted = false;
  // Number of ranks of all jobs that prepare their batches together with this
  // job, including its own; see sharers.h.
  uint32_t sharers = 1;
  uint64_t share = 0;  // the share's number in the pages; 0: none
  uint32_t most_sharers = 1;

  std::optional<MeasuredLimit> measured_limit;

  PlannedGrant grant;
  CpuSet away_now;         // in force in the kernel
  bool may_borrow = true;  // false: its groups cannot be lent CPUs
  AwayPolicy away_policy;
  double looked_at_ms = 0;  // the control loop's last tick, CLOCK_MONOTONIC
  Totals totals;
  Totals sampled;           // at the last sample; a period uses the difference
  uint64_t sampled_ns = 0;  // CLOCK_MONOTONIC; until the first: start
  std::vector<GrantChange> changes;
  uint64_t changes_dropped = 0;
  std::array<uint64_t, kGrantCauseCount> changes_by_cause{};
  JobCounters told;  // counters in the last metrics
  uint64_t next_recall_entry_ns = 0;
  uint32_t most_loader_threads = 0;
  DataQuality quality;
  std::vector<std::string> notes;

  LenderWatch lender_watch;
  DelayProbe delay_probe;

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
  std::vector<Unit*> units();
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
