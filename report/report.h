// The allocation report of a managed job: plain values that penstockd fills
// while the job runs and writes when it ends. Pure, no I/O.
//
// Every figure that may be unknown is optional: unknown and 0.0 are different
// and are displayed differently. All rates are samples/s of the job's ranks on
// this node together; cores are averages over the run unless stated otherwise.
// docs/report.md describes the same fields in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/wall_parts.h"
#include "report/estimate.h"
#include "report/timeline.h"
#include "report/what_if_curve.h"
#include "report/would_have.h"

namespace penstock {

inline constexpr int kReportSchemaVersion = 2;
inline constexpr int kOldestReportSchema = 1;  // that parse_report() reads

// Limits that parse_report() enforces; the producer of a report must keep them.
inline constexpr size_t kMaxReportTextBytes = 256;  // longer text is cut
inline constexpr size_t kMaxGrantChanges = 1024;    // the oldest are dropped
inline constexpr size_t kMaxReportNotes = 32;
inline constexpr size_t kMaxReportOptions = 16;
inline constexpr size_t kMaxReportNodes = 4096;
inline constexpr size_t kMaxLaunchLines = 8;

// A prediction and the measurement of the same figure.
struct Compared {
  std::optional<Estimate> predicted;  // at arrival
  std::string predicted_from;         // "profile resnet50"; "": unknown
  std::optional<Estimate> corrected;  // after the first seconds of run
  std::string corrected_from;         // "measured 12 s"
  std::optional<Estimate> measured;
  std::string measured_by;  // "one batch replayed", "progress page"

  friend bool operator==(const Compared&, const Compared&) = default;
};

// prediction / measurement - 1, as a fraction; nullopt if one is unknown or the
// measurement is not positive.
std::optional<double> prediction_error(const std::optional<Estimate>& predicted,
                                       const std::optional<Estimate>& measured);

// One --loader-* option as the user gave it: {"loader-threads", "6"}.
struct OptionGiven {
  std::string name;
  std::string value;

  friend bool operator==(const OptionGiven&, const OptionGiven&) = default;
};

// One part of the wall time, and its source ("time waited, as the job reported
// it"). nullopt: unknown.
struct TimePart {
  std::optional<double> seconds;
  std::string method;

  friend bool operator==(const TimePart&, const TimePart&) = default;
};

// The part to which Breakdown::contention_s belongs.
inline constexpr WallPart kContendedPart = WallPart::kPrepStall;

// Wall time averaged over the ranks, split without overlap: the parts and
// unattributed add up to wall. make_breakdown() establishes that sum.
struct Breakdown {
  double wall_s = 0;
  PerWallPart<TimePart> parts;
  double unattributed_s = 0;
  // All time that the trainer waited for data. It is known even if fetch and
  // prep cannot be told apart; it is then part of unattributed.
  std::optional<double> waited_s;
  // Part of kContendedPart in which the trainer waited for a CPU that its own
  // loader used, not for data. nullopt: none was seen.
  std::optional<double> contention_s;

  friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

// Clamps each part to [0, wall], scales parts down in proportion if their sum
// exceeds the wall time, and recomputes unattributed_s as the rest. A part that
// is NaN or infinite becomes unknown. A wall time that is not positive gives
// zeros.
Breakdown make_breakdown(Breakdown out);

// The parts in the order of kWallParts, then unattributed.
inline constexpr size_t kBreakdownParts = kWallParts.size() + 1;
// nullopt: unknown.
using WallParts = std::array<std::optional<double>, kBreakdownParts>;
WallParts wall_parts_s(const Breakdown& breakdown);

// The parts in units of 1/units of the wall time. They add up to units exactly
// (largest remainder method); all are 0 if the wall time is 0. units: 100 for
// whole per cent, 1000 for tenths.
std::array<int, kBreakdownParts> rounded_shares(const Breakdown& breakdown,
                                                int units);

// Time in which at least one thread of the job was held up for want of CPU, and
// of I/O, by the kernel's pressure figures. Other threads may have run
// meanwhile, and the two may overlap. At most the time covered.
struct PressureFigures {
  std::optional<double> cpu_s;
  std::optional<double> io_s;
  std::string method;

  friend bool operator==(const PressureFigures&,
                         const PressureFigures&) = default;
};

// What loads the job's data.
enum class LoaderKind { kUnknown, kTrainer, kProcesses, kThreads };
inline constexpr int kLoaderKindCount = 4;
const char* loader_kind_name(LoaderKind kind);  // in JSON: "trainer"

// What started the job's tasks.
enum class Launch {
  kUnknown,
  kBatch,        // the batch script itself is the program
  kStep,         // srun
  kStepOfBatch,  // srun in a batch script
};
inline constexpr int kLaunchCount = 4;
const char* launch_name(Launch launch);  // in JSON: "srun_in_batch"

// Why a job was not lent cores that its ceiling takes.
enum class NotLent {
  kNoCpus,         // none was spare that the site and its policy let it have
  kThreads,        // its loader's threads or workers can use no more
  kStorage,        // its bandwidth limits it first
  kPolicy,         // Policy=even
  kSwitchedOff,    // penstock off
  kSharedCpus,     // other jobs hold some of its own CPUs
  kGroups,         // its control groups cannot be lent any
  kContradiction,  // its figures contradict the kernel's
  kObserved,       // Mode=observe
};
inline constexpr int kNotLentCount = 9;
const char* not_lent_name(NotLent why);  // in JSON: "no_cpus"
const char* not_lent_text(NotLent why);

struct CoresNotLent {
  NotLent why = NotLent::kNoCpus;
  double cores = 0;  // average over the run

  friend bool operator==(const CoresNotLent&, const CoresNotLent&) = default;
};

// A job whose CPUs were used, of those lent.
struct LentBy {
  uint64_t job_id = 0;  // 0: CPUs that no job held
  double cores = 0;     // average over the run

  friend bool operator==(const LentBy&, const LentBy&) = default;
};
inline constexpr size_t kMaxLentBy = 16;

// The kMaxLentBy largest of these cores by job.
std::vector<LentBy> largest_lenders(const std::map<uint64_t, double>& cores);

// "job 12 1.20 cores, idle CPUs 0.30, others 0.10"; used_away: of all together.
std::string lent_by_text(const std::vector<LentBy>& lent_by, double used_away);

// A mistake in how a job was started. The first ones explain why it gets too
// little CPU, the earlier the more likely.
enum class LaunchFault {
  kTasksPinned,   // --cpu-bind put several tasks on the same CPUs
  kStepCpus,      // srun took fewer CPUs than the batch script has
  kRanksShare,    // more ranks than CPUs
  kLoaderPinned,  // its loader is bound to some of the task's CPUs
  kManyThreads,   // workers that compute with several threads each
  kManyWorkers,   // more workers than CPUs
  kSmallReads,    // it reads a few bytes at a time over the network
  kFewWorkers,    // its workers are too few for its idle CPUs
  kOneThread,     // the model is computed by one thread beside idle CPUs
  kFarGpus,       // its CPUs are at another socket than its GPUs
  kUnusedGpus,    // GPUs without a process
  kMemoryKills,   // the kernel killed processes for want of memory
  kOutsiders,     // processes of no job use its CPUs
};
inline constexpr int kLaunchFaultCount = 13;
const char* launch_fault_name(LaunchFault fault);  // in JSON: "step_cpus"

struct LaunchProblem {
  LaunchFault fault = LaunchFault::kTasksPinned;
  std::vector<std::string> lines;  // to paste, all together, as Recommendation
  std::string reason;              // one sentence without a full stop

  friend bool operator==(const LaunchProblem&, const LaunchProblem&) = default;
};

// Cores of the job's tasks on this node.
struct CoreFigures {
  std::optional<double> node;  // CPUs of the node
  // CPUs that Slurm allocated to the job here, and those that its tasks may
  // use: a step has its own number, whatever the batch script has.
  std::optional<double> job;
  std::optional<double> allocated;
  std::optional<double> reserve;    // trainer reserve
  std::optional<double> entitled;   // allocated less reserve
  std::optional<double> requested;  // the user's limit of threads, as cores
  std::optional<double> granted_home;
  std::optional<double> granted_away;
  // Loader threads on the job's own CPUs; of a trainer that loads itself, the
  // time it spent so.
  std::optional<double> used_home;
  std::optional<double> used_away;  // loader threads on lent CPUs
  std::optional<double> used_trainer;
  std::optional<Estimate> demand;          // loader cores for the ceiling
  std::optional<Estimate> trainer_demand;  // the trainer's cores there
  std::optional<double> loader_threads;    // maximum at one time
  LoaderKind loader_kind = LoaderKind::kUnknown;
  Launch launch = Launch::kUnknown;
  bool loader_grows = false;  // starts more threads when it is granted more
  std::vector<CoresNotLent> not_lent;
  std::vector<LentBy> lent_by;  // the largest parts of used_away, in order

  friend bool operator==(const CoreFigures&, const CoreFigures&) = default;
};

// The job's GPUs on this node. All but the count is what the driver says.
struct GpuFigures {
  uint32_t count = 0;         // that Slurm gave
  uint32_t known = 0;         // of these, whose use is known
  std::optional<double> use;  // share of the time in which a kernel ran, 0 to 1
  // The longest time in which no kernel was seen on one of them.
  std::optional<double> longest_idle_s;
  std::optional<double> memory_used_bytes;  // the most on one of them
  std::optional<double> memory_bytes;       // that one's memory

  friend bool operator==(const GpuFigures&, const GpuFigures&) = default;
};

// Storage bandwidth, bytes/s.
struct BandwidthFigures {
  std::string pool;  // "": the job's files are in no configured pool
  std::optional<double> pool_bytes_per_s;  // the pool's whole bandwidth
  std::optional<double> entitled_bytes_per_s;
  std::optional<double> requested_bytes_per_s;
  std::optional<double> granted_bytes_per_s;
  std::optional<double> used_bytes_per_s;
  std::optional<Estimate> demand_bytes_per_s;

  friend bool operator==(const BandwidthFigures&,
                         const BandwidthFigures&) = default;
};

// Effect of the loader's own sample cache. All unknown: the loader has none.
struct CacheFigures {
  std::optional<double> hit_share;   // share of the samples loaded, 0 to 1
  std::optional<double> hits;        // samples
  std::optional<double> hit_bytes;   // bytes not read from storage
  std::optional<double> held_share;  // cached share of the data set, 0 to 1
  std::optional<double> held_bytes;  // of the cached samples, by the hits' mean
  std::optional<double> peer_hits;   // part of hits, from other nodes' caches
  std::optional<double> peer_bytes;  // part of hit_bytes

  friend bool operator==(const CacheFigures&, const CacheFigures&) = default;
};

// The cause of a grant change. Never names the job behind it.
enum class GrantCause {
  kTaskStart,       // a task started on the node
  kTaskEnd,         // a task ended
  kJobEnd,          // a job ended
  kRecall,          // a lender wanted its CPU back
  kLenderSuffered,  // a lender lost rate and got its loan back
  kMeasuredChange,  // measured costs or rates moved
  kIdleCpus,        // unallocated CPUs came or went, recalled ones idle
  kContradiction,   // the pages contradict CPU time or bytes: entitlement
  kReload,          // the admin's configuration changed
  kAgentStart,      // penstockd started or restarted
  kController,      // the cluster's controller sent a grant or fell silent
  kSwitchedOff,     // penstock off
  kSwitchedOn,      // penstock on
  kAnalysis,        // penstock analyze began or ended with the job
};
inline constexpr int kGrantCauseCount = 14;

struct GrantChange {
  double time_unix_s = 0;
  GrantCause cause = GrantCause::kTaskStart;
  std::optional<double> cores_from;  // home plus away
  std::optional<double> cores_to;
  std::optional<double> away_from;  // lent part of the cores
  std::optional<double> away_to;
  std::optional<double> bytes_per_s_from;  // nullopt: no limit
  std::optional<double> bytes_per_s_to;
  std::optional<double> rate_before;  // samples/s, filled in once measured
  std::optional<double> rate_after;

  friend bool operator==(const GrantChange&, const GrantChange&) = default;
};

// Method that separated the job's loader threads from its trainer.
enum class LoaderSource {
  kUnknown,
  kRegistered,
  kNames,
  kMatch,
  kNone,
  kGuest
};
inline constexpr int kLoaderSourceCount = 6;

// Method that detected new threads.
enum class ProcessEvents { kUnknown, kConnector, kPolling };
inline constexpr int kProcessEventsCount = 3;

// Who counted the job's batches, or why nobody did.
enum class Counted {
  kUnknown,  // reports of earlier versions
  kProgram,  // the program itself
  kHook,     // the hook, in a program that does not use Penstock
  kNoStep,   // loaders were iterated, but none was seen to train
  kSiteOff,  // Watch=off in penstock.conf
  kUserOff,  // --loader-watch=off
  kNoHook,   // the job has no hook
  kUnseen,   // no loader was seen
};
inline constexpr int kCountedCount = 8;

struct DataQuality {
  std::optional<double> sample_period_s;
  uint64_t periods = 0;  // sampling periods covered
  uint64_t gaps = 0;     // periods missed
  uint64_t samples = 0;  // training samples reported by the job
  Counted counted = Counted::kUnknown;
  LoaderSource loader_source = LoaderSource::kUnknown;
  ProcessEvents process_events = ProcessEvents::kUnknown;
  bool pages_contradicted = false;  // the job's page contradicts the kernel
  uint64_t agent_restarts = 0;      // of penstockd during the run

  friend bool operator==(const DataQuality&, const DataQuality&) = default;
};

struct Recommendation {
  // To paste, all together: "#SBATCH --cpus-per-task=2", "num_workers=2".
  std::vector<std::string> lines;
  std::string reason;  // one sentence without a full stop
  // Expected gain in throughput as a fraction. nullopt: unknown, or the advice
  // saves resources instead.
  std::optional<Estimate> gain;

  friend bool operator==(const Recommendation&,
                         const Recommendation&) = default;
};

// What limits a job on several nodes: its slowest node. All other nodes' ranks
// wait for that one's, so averages over the nodes would hide it.
struct SlowestNode {
  std::string verdict;
  std::vector<Recommendation> recommendations;

  friend bool operator==(const SlowestNode&, const SlowestNode&) = default;
};

// The rank that waits for data for the largest share of its time.
struct SlowestRank {
  std::string node;
  uint32_t task = 0;     // Slurm's number
  uint32_t process = 0;  // of the task's; 0: the first
  double waited = 0;     // share of its time, 0 to 1
  double mean = 0;       // of all ranks
  // More for storage than for CPU; nullopt: its loader does not tell.
  std::optional<bool> for_storage;

  // Far from the mean, so that the others wait for this one.
  bool stands_out() const;

  friend bool operator==(const SlowestRank&, const SlowestRank&) = default;
};
// "process 1 of task 5 on c2 waits for data for 41% of its time, the mean of
// all ranks is 12%: most of it for storage".
std::string slowest_rank_text(const SlowestRank& rank);

// One node's part of a job that ran on several.
struct NodePart {
  std::string node;
  uint32_t tasks = 0;
  uint32_t ranks = 0;
  std::optional<double> rate;  // samples/s of its ranks
  Breakdown breakdown;
  std::optional<double> used_home;  // loader cores
  std::optional<double> used_away;
  bool running = false;
  bool slowest = false;  // its ranks wait longest for data: others wait for it

  friend bool operator==(const NodePart&, const NodePart&) = default;
};

struct JobReport {
  int schema_version = kReportSchemaVersion;
  uint32_t job_id = 0;
  // As squeue prints it, with its restarts: "9_1 r2"; "": not known. Not in
  // JSON.
  std::string label;
  std::string job_name;  // any bytes of the user
  uint32_t user_id = 0;
  std::string user;  // name, where it is known; not in JSON
  std::string node;  // of several nodes: their names
  double start_unix_s = 0;
  std::optional<double> end_unix_s;  // nullopt: still running
  double updated_unix_s = 0;         // time of these figures
  bool running = false;
  uint32_t tasks = 0;  // Slurm tasks on this node, maximum at one time
  uint32_t ranks = 0;  // trainer processes that report at once, on average
  std::vector<OptionGiven> options;

  std::string policy;  // policy_name() of the node at the time of writing
  Compared ceiling;    // rate if data is never late
  Compared throughput;
  std::optional<double> floor_rate;  // rate of the entitlement alone
  Breakdown breakdown;
  PressureFigures pressure;
  CoreFigures cores;
  GpuFigures gpus;
  BandwidthFigures bandwidth;
  CacheFigures cache;
  std::vector<GrantChange> changes;  // ascending time
  uint64_t changes_dropped = 0;
  // The job's timeline on this node; empty in a node's status.
  std::vector<TimelinePoint> timeline;
  // nullopt: not in a node's status, nor in reports of earlier versions.
  std::optional<WhatIfCurve> what_if;
  std::optional<WouldHave> would_have;  // nullopt: Penstock acted all the time
  std::vector<LaunchProblem> launch_problems;
  DataQuality quality;
  std::optional<SlowestRank> slowest_rank;  // nullopt: unknown
  std::vector<NodePart> nodes;              // empty: the report of one node
  std::optional<SlowestNode> slowest;       // of several nodes; not in JSON
  double recommend_after_s = 30;            // ReportMinTime
  std::vector<std::string> notes;           // "the accelerator is emulated"

  // Does nothing beyond kMaxReportNotes.
  void add_note(std::string note);
  // Duration covered, never negative.
  double run_s() const;
  // Whether anything is known of its rate, cores, and bandwidth.
  bool knows_rate() const;
  bool knows_cores() const;
  bool knows_bandwidth() const;

  friend bool operator==(const JobReport&, const JobReport&) = default;
};

// Names in JSON ("job_end") and in text ("a job ended").
const char* cause_name(GrantCause cause);
const char* cause_text(GrantCause cause);
const char* loader_source_name(LoaderSource source);
const char* loader_source_text(LoaderSource source);
const char* counted_name(Counted counted);
const char* counted_text(Counted counted);
const char* process_events_name(ProcessEvents events);

}  // namespace penstock
