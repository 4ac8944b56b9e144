// Breakdown of a run's time and cores, for its ranks on one node or on all.
// Plain values; pure.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "wire/bounds.h"

namespace penstock {

// nullopt: unknown. The first seven are seconds of a rank, averaged over the
// ranks.
struct RunTotals {
  std::optional<double> wall_s;  // time that the figures cover
  // Disjoint parts of wall_s; the rest is unattributed.
  std::optional<double> compute_s;
  std::optional<double> fetch_stall_s;
  std::optional<double> prep_stall_s;
  std::optional<double> exchange_stall_s;
  // Time waited for data as the job reports it, also where fetch and prep
  // cannot be told apart. Unknown: the parts are the kernel's figures.
  std::optional<double> waited_s;
  std::optional<double> active_s;  // time that the job's mean rate covers
  // CPU time of all ranks' loaders on the job's own CPUs, of these loaders on
  // lent CPUs, and of other jobs' loaders on the job's own CPUs.
  std::optional<double> home_core_s;
  std::optional<double> away_core_s;
  std::optional<double> lent_core_s;
  // Rate of the entitlement alone, per rank.
  std::optional<double> floor_samples_per_s;

  friend bool operator==(const RunTotals&, const RunTotals&) = default;
};

// The fields with their names in messages, documents and the history's table.
struct RunField {
  const char* name;
  std::optional<double> RunTotals::*value;
  double most;  // upper bound in messages
};
inline constexpr double kMaxCoreSeconds =
    bounds::kMaxCores * bounds::kMaxSeconds;
inline constexpr std::array<RunField, 11> kRunFields = {
    {{"wall_s", &RunTotals::wall_s, bounds::kMaxSeconds},
     {"compute_s", &RunTotals::compute_s, bounds::kMaxSeconds},
     {"fetch_stall_s", &RunTotals::fetch_stall_s, bounds::kMaxSeconds},
     {"prep_stall_s", &RunTotals::prep_stall_s, bounds::kMaxSeconds},
     {"exchange_stall_s", &RunTotals::exchange_stall_s, bounds::kMaxSeconds},
     {"waited_s", &RunTotals::waited_s, bounds::kMaxSeconds},
     {"active_s", &RunTotals::active_s, bounds::kMaxSeconds},
     {"home_core_s", &RunTotals::home_core_s, kMaxCoreSeconds},
     {"away_core_s", &RunTotals::away_core_s, kMaxCoreSeconds},
     {"lent_core_s", &RunTotals::lent_core_s, kMaxCoreSeconds},
     {"floor_samples_per_s", &RunTotals::floor_samples_per_s,
      bounds::kMaxRate}}};

// Sum of compute and the three stalls; unknown parts count as 0.
double attributed_s(const RunTotals& run);
// Wall time less attributed_s(), never negative; nullopt without a wall time.
std::optional<double> unattributed_s(const RunTotals& run);
// Time waited for data, whatever the cause, plus the exchange stall; at most
// the wall time. nullopt: both are unknown.
std::optional<double> stalled_s(const RunTotals& run);
// True if the parts do not exceed the wall time, rounding apart.
bool adds_up(const RunTotals& run);

// Makes the totals valid for a message: values that are not finite become
// unknown, all others are clamped to their bounds.
RunTotals within_bounds(RunTotals run);

// Totals of a job on one node.
struct NodeTotals {
  double ranks = 0;  // on the node, > 0
  RunTotals run;
};
// The job's totals: seconds are averaged by ranks, core seconds are summed, and
// the floor is the lowest because all ranks move at one rate. A figure that one
// node lacks is unknown for the job.
RunTotals of_all_nodes(const std::vector<NodeTotals>& nodes);

}  // namespace penstock
