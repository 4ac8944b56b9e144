// What became of a run's time and cores: of its ranks on one node, or of all
// of them. Plain values; pure.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "select_ext/ctld/bounds.h"

namespace penstock {

// nullopt: not known. The first seven are seconds of a rank, averaged over the
// ranks.
struct RunTotals {
  std::optional<double> wall_s;  // that the figures cover
  // Parts of it, without overlap; what is left is unattributed.
  std::optional<double> compute_s;
  std::optional<double> fetch_stall_s;
  std::optional<double> prep_stall_s;
  std::optional<double> exchange_stall_s;
  // Time waited for data by the job's own word, also where fetch and prep
  // cannot be told apart. Not known: the parts are the kernel's figures.
  std::optional<double> waited_s;
  std::optional<double> active_s;  // that the job's rate is of
  // CPU time of all ranks' loaders on the job's own CPUs, and on lent ones;
  // and of other jobs' loaders on this one's CPUs.
  std::optional<double> home_core_s;
  std::optional<double> away_core_s;
  std::optional<double> lent_core_s;
  // What the entitlement alone allows, per rank.
  std::optional<double> floor_samples_per_s;

  friend bool operator==(const RunTotals&, const RunTotals&) = default;
};

// The fields by their names in messages, documents and the history's table.
struct RunField {
  const char* name;
  std::optional<double> RunTotals::*value;
  double most;  // that a message may say
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

// Compute and the three stalls, as far as they are known.
double attributed_s(const RunTotals& run);
// The wall time less these, never negative; nullopt without a wall time.
std::optional<double> unattributed_s(const RunTotals& run);
// Time stalled: waited for data, whether or not its cause is known, and for
// the exchange; never more than the wall time. nullopt: nothing is known of
// either.
std::optional<double> stalled_s(const RunTotals& run);
// The parts are no more than the wall time, rounding apart.
bool adds_up(const RunTotals& run);

// As a message may say it: what is not finite becomes unknown, all else is
// brought within its bounds.
RunTotals within_bounds(RunTotals run);

// What one node says of a job.
struct NodeTotals {
  double ranks = 0;  // there, > 0
  RunTotals run;
};
// The job's: seconds are averaged by ranks, core seconds added, the floor is
// the lowest, because all ranks move at one rate. A figure that one of the
// nodes does not know is not known of the job.
RunTotals of_all_nodes(const std::vector<NodeTotals>& nodes);

}  // namespace penstock
