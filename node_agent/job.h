// What penstockd knows of the tasks and jobs on its node.
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
#include "node_agent/attribution.h"
#include "node_agent/away_policy.h"
#include "node_agent/classifier.h"
#include "node_agent/course.h"
#include "node_agent/delay_probe.h"
#include "node_agent/lender_watch.h"
#include "node_agent/pages.h"
#include "node_agent/planner.h"
#include "node_agent/trainer_delay.h"
#include "predictor/predictor.h"
#include "predictor/profile.h"
#include "report/metrics.h"
#include "report/report.h"

namespace penstock {

// What a thread has added to Totals::home_cpu_s, away_cpu_s and home_delay_s.
struct Charge {
  double home_s = 0;
  double away_s = 0;
  double home_delay_s = 0;
};

// One thread of a loader unit, with the place it came from.
struct LoaderThread {
  Home home;
  SchedstatFile schedstat;
  SchedStat ticked;     // at the last look of the closed loop
  SchedStat accounted;  // at the last accounting
  // Opened where its state is looked at.
  std::optional<ThreadStatFile> stat = std::nullopt;
  Charge charged;
  Charge sampled;  // as of the last sample
};

struct Unit {
  int id = 0;  // its first tid
  pid_t pid = 0;
  bool in_order = false;  // a worker process
  bool away = false;
  std::vector<LoaderThread> threads;
};

// One trainer process and the pages that it has. torchrun starts several in
// one task of Slurm's.
struct Rank {
  TaskPages pages;
  TaskId writer;                     // of the progress page
  std::optional<Progress> progress;  // the last reading
  bool gone = false;                 // the writer; a successor may take over

  // Reads the page anew. batch: samples in a step, for pages that count only
  // steps; 0: unknown. False where there is nothing (new) to read.
  bool read(uint32_t batch, TaskPages::Clock clock_ns = monotonic_ns);
};

struct Task {
  penstock_task_start start{};
  TaskId id;
  UniqueFd pidfd;
  uint64_t exit_seen_ns = 0;   // by the proc connector; the pidfd decides
  Home home;                   // of its first process, when it was registered
  CpuSet loader_cpus;          // kept apart from the trainer's; empty: not
  std::string accounted_path;  // JobGroups::accounted
  std::vector<Rank> ranks;
  std::set<int> registered_tids;
  std::set<int> greeting_pids;
  std::set<int> trainer_pids;  // multiprocessing's, have had loader processes
  // Processes of the last scan, and since when each is known (CLOCK_MONOTONIC;
  // a stop of the job does not count).
  std::map<pid_t, uint64_t> known_since_ns;
  bool look_again = false;  // that scan could not tell a trainer
  std::vector<Unit> units;
  // Living threads that are no loaders by the last scan and were before: one
  // that is found again goes on where it was. Until the next sample.
  std::map<pid_t, LoaderThread> dropped;
  std::set<pid_t> processes;  // as of the last scan
};

// Its worker processes, which are loaders as a whole.
std::set<pid_t> loader_processes(const Task& task);

// Slurm's number of the step that runs a batch script (slurm.h). Where the
// script starts steps of its own, it waits for them and does nothing else.
inline constexpr uint32_t kBatchStep = 0xfffffffb;
bool is_batch(const Task& task);

// What the pages of a job's ranks said, summed.
struct PageSums {
  double ranks = 0;
  uint64_t first_ns = 0;  // the earliest start of watching
  uint64_t last_ns = 0;   // the latest update
  double samples = 0;
  double active_s = 0;  // from the start of watching to the last update
  double wait_s = 0;
  double fetch_s = 0;
  double prep_s = 0;
  double exchange_s = 0;
  double bytes = 0;
  double cached = 0;
  double cached_bytes = 0;
  double peer = 0;  // of cached, from other nodes
  double peer_bytes = 0;
  double prepared = 0;
  double held_share = 0;    // of the data set that is in a cache: of the last
  double held_samples = 0;  // page that tells
  bool replaying = false;

  void add(const Progress& page);
  // How many reported at once, averaged: ranks may start late, end early, or
  // follow each other. At least 1.
  double ranks_at_once() const;
};

// A job as it was when most of it ran: its report is written when parts of it
// have ended.
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
  double lent_cpu_s = 0;    // other jobs' away threads, on this one's CPUs
  double credited_away_cpu_s = 0;  // of away_cpu_s, what lenders were given
  LoaderTime loader;               // blocked_s: while Job::watches_states
  WaitSplit by_kernel;             // of the time waited, summed over the ranks
  double job_cpu_s = 0;            // all of the job
  double contention_s = 0;         // see contention_s(), summed over the ranks
  double granted_home_core_s = 0;
  double granted_away_core_s = 0;
  double granted_bytes = 0;  // integral of the bandwidth limit
  double read_bytes = 0;     // meaningful where Job::knows_bytes
  std::optional<Pressure> pressure;
  std::optional<double> gpu_busy_s;  // averaged over the job's GPUs
};

// CPU time that a job has used between two readings of its Totals, seconds.
// home + away + trainer is all of it.
struct CpuUse {
  double home_s = 0;  // loader threads, at home and away
  double away_s = 0;
  std::optional<double> trainer_s;  // nullopt: the job's CPU time is unknown

  double loader_s() const { return home_s + away_s; }
};

// What was used from the earlier reading to the later one. Totals that were
// never read (job_cpu_s is 0) tell nothing of the trainer.
CpuUse cpu_use(const Totals& earlier, const Totals& later);

// Counters of the whole job at one moment, for differences.
struct Counters {
  uint64_t time_ns = 0;
  uint64_t updated_ns = 0;  // of the pages, the newest
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
  double home_cpu_s = 0;  // of it, at home
  double job_cpu_s = 0;
};

// How long the trainer waited for a CPU that its own loader used, between two
// moments, summed over the ranks: its run delay beside its waiting for data, as
// the job told it, but no longer than its loader ran at home, nor than it did
// not wait otherwise. Away threads and other jobs are not in its way.
double contention_s(const Counters& earlier, const Counters& later,
                    double busy_s);

struct Job;

// What was charged to the loader for a thread that turned out to be the
// trainer's is the trainer's.
void charge_trainer(Job& job, const LoaderThread& thread);

struct RecentRate {
  double time_s = 0;
  double rate = 0;  // samples/s over the observation that ended then
};

// What the job asked to be held to, for as long as it renews that.
struct MeasuredLimit {
  uint32_t millicores = 0;   // of one rank; 0: none
  uint64_t bytes_per_s = 0;  // of one rank; 0: none
  uint64_t lapses_ns = 0;
};

struct Job {
  JobId id = 0;
  uid_t uid = 0;
  bool managed = false;
  bool stopped = false;  // by a signal, or frozen; see note_stopped()
  penstock_wire_options options{};
  std::string name;
  double started_unix_s = 0;
  uint64_t started_ns = 0;
  uint64_t idle_since_ns = 0;   // when its last task ended
  std::map<pid_t, Task> tasks;  // by the pid of the first process
  PageSums ended;               // of tasks that have exited
  Widest widest;
  // How the loader was told apart, the best seen.
  LoaderEvidence evidence = LoaderEvidence::kNone;

  std::optional<Profile> profile;
  std::optional<Prediction> prior;      // of the profile, per rank
  std::optional<Prediction> corrected;  // with what was measured, per rank
  // Of all who prepared its batches with it, while its own window may tell
  // none.
  MeasuredCosts learnt_sharing;
  std::optional<Estimate> first_corrected_ceiling;  // once 10 s were seen
  Corrector corrector;
  Counters last;
  std::deque<RecentRate> rates;  // the last minute
  Course course;
  // The trainer waits, and the loader does not tell what for: each period its
  // threads' states are looked at.
  bool watches_states = true;
  // Share of the time that its GPUs are busy now; nullopt: not known.
  std::optional<double> gpu_busy;
  std::vector<double> trainer_cores;  // per period, for the reserve
  double held_reserve_cores = 0;      // where trainer_cores is empty
  double used_loader_cores = 0;
  // What the trainer would use more of its CPUs if its loader were not there.
  double crowded_cores = 0;
  TrainerDelay trainer_delay;
  // In the last period: its loader threads at home waited for a CPU, and it
  // used next to none.
  bool starved = false;
  bool is_idle = false;
  // The kernel counts what it reads from its pool, or its pages tell.
  bool knows_bytes = false;
  bool kernel_counts_bytes = false;
  double read_bytes_per_s = 0;     // in the last period
  double io_counter_bytes = 0;     // the kernel's, at the last sample
  Pressure pressure_counter;       // as well
  uint64_t limit_bytes_per_s = 0;  // in force; 0: none
  std::string limit_device;        // on which
  bool pool_pressed = false;
  bool contradicted = false;
  // Ranks of all jobs that prepare their batches together with one of these, it
  // included; see sharers.h.
  uint32_t sharers = 1;
  uint64_t share = 0;  // the number that those have alike; 0: none
  uint32_t most_sharers = 1;

  std::optional<MeasuredLimit> measured_limit;

  PlannedGrant grant;
  CpuSet away_now;         // in the kernel
  bool may_borrow = true;  // false: its groups cannot be lent CPUs
  AwayPolicy away_policy;
  double looked_at_ms = 0;  // CLOCK_MONOTONIC of the closed loop's last look
  Totals totals;
  Totals sampled;  // as of the last sample: what a period used is since then
  uint64_t sampled_ns = 0;  // CLOCK_MONOTONIC of it; before: of the first task
  std::vector<GrantChange> changes;
  uint64_t changes_dropped = 0;
  std::array<uint64_t, kGrantCauseCount> changes_by_cause{};
  JobCounters told;  // by the metrics, last
  uint64_t next_recall_entry_ns = 0;
  uint32_t most_loader_threads = 0;
  DataQuality quality;
  std::vector<std::string> notes;

  LenderWatch lender_watch;
  DelayProbe delay_probe;

  // Adds a note to the report, once, and within the report's bound. False where
  // it was there, or is one too many: what is logged with it is so once too.
  bool note(const std::string& text);
  // What is_stopped() says. A process that stood between fork and exec looks
  // like its parent for as long as it stands: how long that was tells nothing.
  void note_stopped(bool is_stopped);
  // Begins the reserve anew. What it was is held until the next sample: a plan
  // that is made before would lend the trainer's CPUs.
  void forget_trainer_use();
  // Tasks that can hold a rank: not a batch script that has started steps.
  uint32_t task_count() const;
  uint32_t reporting_ranks() const;  // lately
  // Those that report, or where none does one for each task; at least 1.
  uint32_t ranks() const;
  // The ranks that count for the job's weight and its part of a pool: no more
  // than it has tasks or GPUs, or CPUs, whatever processes report.
  uint32_t shares() const;
  void note_widest();      // to be called while its parts run
  PageSums pages() const;  // of running and ended tasks
  CpuSet cpus() const;
  std::vector<Unit*> units();
  bool reports() const;   // has a progress page that makes sense
  bool elastic() const;   // could run more loader threads than it does
  bool is_apart() const;  // a loader is kept on other CPUs than its trainer
};

// The job's rate over the last seconds, samples/s of all ranks; nullopt
// without a page or before the first observation.
std::optional<double> recent_rate(const Job& job, double now_s, double seconds);

// The 95th percentile of the cores that the trainer itself used lately. Of a
// job with a profile, the profile's figure until a few periods were seen.
double trainer_reserve_cores(const Job& job);

}  // namespace penstock
