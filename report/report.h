// What a managed job's allocation report says: plain values that penstockd
// fills while the job runs and writes when it ends. Pure, no I/O.
//
// Every figure that may be unknown is optional: unknown and 0.0 are different
// answers and are shown differently. All rates are samples/s of the job's
// ranks on this node together; cores are averages over the run unless named
// otherwise. docs/report.md describes the same fields in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/estimate.h"
#include "report/timeline.h"
#include "report/what_if_curve.h"

namespace penstock {

inline constexpr int kReportSchemaVersion = 1;

// Bounds that parse_report() enforces; who fills a report keeps them.
inline constexpr size_t kMaxReportTextBytes = 256;  // longer text is cut
inline constexpr size_t kMaxGrantChanges = 1024;    // the oldest are dropped
inline constexpr size_t kMaxReportNotes = 32;
inline constexpr size_t kMaxReportOptions = 16;

// A prediction beside the measurement that judges it.
struct Compared {
  std::optional<Estimate> predicted;  // at arrival
  std::string predicted_from;         // "profile resnet50", "" unknown
  std::optional<Estimate> corrected;  // after the first seconds of run
  std::string corrected_from;         // "measured 12 s"
  std::optional<Estimate> measured;
  std::string measured_by;  // "one batch replayed", "progress page"

  friend bool operator==(const Compared&, const Compared&) = default;
};

// prediction / measurement - 1, as a fraction; nullopt where one is unknown
// or the measurement is not positive.
std::optional<double> prediction_error(const std::optional<Estimate>& predicted,
                                       const std::optional<Estimate>& measured);

// One --loader-* option as the user gave it: {"loader-threads", "6"}.
struct OptionGiven {
  std::string name;
  std::string value;

  friend bool operator==(const OptionGiven&, const OptionGiven&) = default;
};

// One part of the wall time and how it was obtained ("time waited, as the job
// reported it"). nullopt: could not be told.
struct TimePart {
  std::optional<double> seconds;
  std::string method;

  friend bool operator==(const TimePart&, const TimePart&) = default;
};

// Wall time averaged over the ranks, split without overlap:
// compute + fetch stall + prep stall + exchange stall + unattributed == wall.
// Made by make_breakdown(), which holds that sum.
struct Breakdown {
  double wall_s = 0;
  TimePart compute;
  TimePart fetch_stall;     // storage
  TimePart prep_stall;      // CPU
  TimePart exchange_stall;  // gradient communication
  double unattributed_s = 0;
  // All time that the trainer waited for data, also where fetch and prep
  // cannot be told apart (it is then part of unattributed).
  std::optional<double> waited_s;
  // Of the prep stall, the time that the trainer did not wait for data but for
  // a CPU that its own loader used. nullopt: none was seen.
  std::optional<double> contention_s;

  friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

// The breakdown with each part clamped to [0, wall], parts that together exceed
// the wall time shrunk in proportion, and the rest unattributed, whatever stood
// there. A part that is NaN or infinite counts as unknown; a wall time that is
// not positive gives zeros.
Breakdown make_breakdown(Breakdown parts);

// The parts of a breakdown {compute, fetch, prep, exchange, unattributed}.
inline constexpr size_t kBreakdownParts = 5;

// The parts in units of 1/units of the wall time, rounded so that they add up
// to units exactly (largest remainder); all 0 where the wall time is 0.
// units: 100 for whole per cent, 1000 for tenths.
std::array<int, kBreakdownParts> rounded_shares(const Breakdown& breakdown,
                                                int units);

// How long some thread of the job was held up for want of CPU, and of I/O, as
// the kernel counts it; other threads may have run meanwhile, and both may be
// so at once. At most the time covered.
struct PressureFigures {
  std::optional<double> cpu_s;
  std::optional<double> io_s;
  std::string method;

  friend bool operator==(const PressureFigures&,
                         const PressureFigures&) = default;
};

// Cores of the job's tasks on this node.
struct CoreFigures {
  std::optional<double> allocated;  // CPUs that Slurm gave
  std::optional<double> reserve;    // trainer reserve
  std::optional<double> entitled;   // allocated less reserve
  std::optional<double> requested;  // --loader-threads=N, as cores
  std::optional<double> granted_home;
  std::optional<double> granted_away;
  std::optional<double> used_home;  // loader threads on the job's own CPUs
  std::optional<double> used_away;  // loader threads on lent CPUs
  std::optional<double> used_trainer;
  std::optional<Estimate> demand;        // loader cores for the ceiling
  std::optional<double> loader_threads;  // most seen at once

  friend bool operator==(const CoreFigures&, const CoreFigures&) = default;
};

// Storage bandwidth, bytes/s.
struct BandwidthFigures {
  std::string pool;  // "" where the job's files are in no configured pool
  std::optional<double> pool_bytes_per_s;  // the pool's whole bandwidth
  std::optional<double> entitled_bytes_per_s;
  std::optional<double> requested_bytes_per_s;
  std::optional<double> granted_bytes_per_s;
  std::optional<double> used_bytes_per_s;
  std::optional<Estimate> demand_bytes_per_s;

  friend bool operator==(const BandwidthFigures&,
                         const BandwidthFigures&) = default;
};

// What the loader's own cache of samples served. All unknown: it has none.
struct CacheFigures {
  std::optional<double> hit_share;   // of the samples loaded, 0 to 1
  std::optional<double> hits;        // samples
  std::optional<double> hit_bytes;   // not read from storage
  std::optional<double> held_share;  // of the data set that is in it, 0 to 1
  std::optional<double> held_bytes;  // of these samples, by the mean of hits
  std::optional<double> peer_hits;   // of hits, out of other nodes' caches
  std::optional<double> peer_bytes;  // of hit_bytes

  friend bool operator==(const CacheFigures&, const CacheFigures&) = default;
};

// Why a grant changed. Never says whose job it was.
enum class GrantCause {
  kTaskStart,       // a task started on the node
  kTaskEnd,         // a task ended
  kJobEnd,          // a job ended
  kRecall,          // a lender wanted its CPU back
  kLenderSuffered,  // a lender lost rate and got its loan back
  kMeasuredChange,  // measured costs or rates moved
  kIdleCpus,        // unallocated CPUs came or went, recalled ones are idle
  kContradiction,   // the pages contradict CPU time or bytes: entitlement
  kReload,          // the admin's configuration changed
  kAgentStart,      // penstockd started or restarted
  kController,      // the cluster's controller granted anew, or fell silent
  kSwitchedOff,     // penstock off
  kSwitchedOn,      // penstock on
  kAnalysis,        // penstock analyze began or ended with the job
};
inline constexpr int kGrantCauseCount = 14;

struct GrantChange {
  double time_unix_s = 0;
  GrantCause cause = GrantCause::kTaskStart;
  std::optional<double> cores_from;  // home and away together
  std::optional<double> cores_to;
  std::optional<double> away_from;  // the part of it that is lent
  std::optional<double> away_to;
  std::optional<double> bytes_per_s_from;  // nullopt: no limit
  std::optional<double> bytes_per_s_to;
  std::optional<double> rate_before;  // samples/s, filled in once measured
  std::optional<double> rate_after;

  friend bool operator==(const GrantChange&, const GrantChange&) = default;
};

// How the job's loader threads were told from its trainer.
enum class LoaderSource { kUnknown, kRegistered, kNames, kMatch, kNone };
inline constexpr int kLoaderSourceCount = 5;

// How new threads were noticed.
enum class ProcessEvents { kUnknown, kConnector, kPolling };
inline constexpr int kProcessEventsCount = 3;

struct DataQuality {
  std::optional<double> sample_period_s;
  uint64_t periods = 0;  // sampling periods covered
  uint64_t gaps = 0;     // periods missed
  uint64_t samples = 0;  // training samples that the job reported
  LoaderSource loader_source = LoaderSource::kUnknown;
  ProcessEvents process_events = ProcessEvents::kUnknown;
  bool pages_contradicted = false;  // the job's page against the kernel
  uint64_t agent_restarts = 0;      // of penstockd during the run

  friend bool operator==(const DataQuality&, const DataQuality&) = default;
};

struct JobReport {
  int schema_version = kReportSchemaVersion;
  uint32_t job_id = 0;
  std::string job_name;  // the user's text: any bytes
  uint32_t user_id = 0;
  std::string node;
  double start_unix_s = 0;
  std::optional<double> end_unix_s;  // nullopt while it runs
  double updated_unix_s = 0;         // when these figures were taken
  bool running = false;
  uint32_t tasks = 0;  // Slurm's, on this node, the most at once
  uint32_t ranks = 0;  // trainer processes that reported at once, on average
  std::vector<OptionGiven> options;

  std::string policy;  // policy_name() of the node when it was written
  Compared ceiling;    // rate when data is never late
  Compared throughput;
  std::optional<double> floor_rate;  // what the entitlement alone allows
  Breakdown breakdown;
  PressureFigures pressure;
  CoreFigures cores;
  BandwidthFigures bandwidth;
  CacheFigures cache;
  std::vector<GrantChange> changes;  // ascending time
  uint64_t changes_dropped = 0;
  // The job's course here; empty in the state of a node.
  std::vector<TimelinePoint> timeline;
  // nullopt: not told, as in the state of a node and by earlier versions.
  std::optional<WhatIfCurve> what_if;
  DataQuality quality;
  double recommend_after_s = 30;   // ReportMinTime
  std::vector<std::string> notes;  // "the accelerator is emulated"

  // Time covered, never negative.
  double run_s() const;

  friend bool operator==(const JobReport&, const JobReport&) = default;
};

// Names used in JSON ("job_end") and for people ("a job ended").
const char* cause_name(GrantCause cause);
const char* cause_text(GrantCause cause);
const char* loader_source_name(LoaderSource source);
const char* loader_source_text(LoaderSource source);
const char* process_events_name(ProcessEvents events);

}  // namespace penstock
