// The parts of a job's record, each of one idea.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/units.h"
#include "node_agent/delay_probe.h"
#include "node_agent/plan/away_policy.h"
#include "node_agent/plan/classifier.h"
#include "node_agent/plan/lender_watch.h"
#include "node_agent/trainer_delay.h"
#include "predictor/predictor.h"
#include "predictor/profile.h"
#include "report/report.h"

namespace penstock {

// What a sample costs: predicted from the profile, corrected by measurements.
struct JobCosts {
  std::optional<Profile> profile;
  std::optional<Prediction> prior;      // from the profile, per rank
  std::optional<Prediction> corrected;  // with measured costs, per rank
  // Costs measured together with the jobs that share its batches. Used while
  // its own window may contain none.
  MeasuredCosts learnt_sharing;
  std::optional<Estimate> first_corrected_ceiling;  // after the first 10 s
  Corrector corrector;
  bool contradicted = false;
};

// What the trainer uses of the job's CPUs, for its reserve.
struct TrainerUse {
  std::vector<double> cores;      // per period
  double held_reserve_cores = 0;  // used while `cores` is empty
  // Cores that the trainer would use in addition if its loader did not compete
  // with it.
  double crowded_cores = 0;
  TrainerDelay delay;
};

struct LoaderUse {
  // The most trusted rule that has identified the loader.
  LoaderEvidence evidence = LoaderEvidence::kNone;
  double used_cores = 0;
  // In the last period: its threads at home waited for a CPU.
  bool starved = false;
  uint32_t most_threads = 0;
  bool in_processes = false;  // its units are worker processes
  // The trainer waits, and the loader does not report its times: sample the
  // states of the loader's threads each period.
  bool watches_states = true;
};

// Bytes read from the job's pool, and their limit.
struct PoolReads {
  // The kernel counts the bytes, or the job's pages report them.
  bool knows_bytes = false;
  bool kernel_counts_bytes = false;
  double bytes_per_s = 0;          // in the last period
  double counter_bytes = 0;        // the kernel's count at the last sample
  uint64_t limit_bytes_per_s = 0;  // in force; 0: none
  std::string limit_device;        // the limited device
  bool pool_pressed = false;
};

// The jobs that prepare their batches together with this one; see sharers.h.
struct Sharing {
  uint32_t sharers = 1;  // ranks of all these jobs, including its own
  uint64_t share = 0;    // the share's number in the pages; 0: none
  uint32_t most_sharers = 1;
};

// CPUs lent to the job.
struct Loan {
  CpuSet cpus;             // in force in the kernel, with a guest's own
  bool may_borrow = true;  // false: its groups cannot be lent CPUs
  // All its threads are sent away: a guest for which Penstock acts.
  bool gives_way = false;
  bool may_give_way = true;  // false: its groups cannot
  // Of such a guest: those of its own CPUs that no other job but guests holds.
  CpuSet own_cpus;
  AwayPolicy policy;
  double looked_at_ms = 0;  // the control loop's last tick, CLOCK_MONOTONIC
};

// Whether the job suffers when its own CPUs are lent.
struct Lending {
  LenderWatch watch;
  DelayProbe probe;
};

// The list of grant changes; see grant_changes.h.
struct GrantHistory {
  std::vector<GrantChange> list;
  uint64_t dropped = 0;
  std::array<uint64_t, kGrantCauseCount> by_cause{};
  uint64_t next_recall_entry_ns = 0;
};

// Limits that the job requested for a measurement, until they expire.
struct MeasuredLimit {
  uint32_t millicores = 0;   // per rank; 0: none
  uint64_t bytes_per_s = 0;  // per rank; 0: none
  // CLOCK_MONOTONIC; each repeated request renews it.
  uint64_t lapses_ns = 0;
};

}  // namespace penstock
