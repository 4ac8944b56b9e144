// Breakdown of a run's time and cores, for its ranks on one node or on all.
// Plain values; pure.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "common/wall_parts.h"
#include "wire/bounds.h"

namespace penstock {

// nullopt: unknown. Seconds are of a rank, averaged over the ranks, unless they
// are core seconds.
struct RunTotals {
  std::optional<double> wall_s;  // time that the figures cover
  // Disjoint parts of wall_s; the rest is unattributed.
  PerWallPart<std::optional<double>> parts_s;
  // Time waited for data as the job reports it, also where fetch and prep
  // cannot be told apart. Unknown: the parts are the kernel's figures.
  std::optional<double> waited_s;
  std::optional<double> active_s;  // time that the job's mean rate covers
  // CPU time of all ranks' loaders on the job's own CPUs, of these loaders on
  // lent CPUs, and of other jobs' loaders on the job's own CPUs.
  std::optional<double> home_core_s;
  std::optional<double> away_core_s;
  std::optional<double> lent_core_s;
  std::optional<double> guest_core_s;  // of away_core_s, by a guest
  // CPU time that Slurm gave the job, and that it used on its own CPUs.
  std::optional<double> allocated_core_s;
  std::optional<double> used_core_s;
  // GPU seconds that were watched, and those of them in which a kernel ran; the
  // longest time in which no kernel was seen on one and the same GPU.
  std::optional<double> gpu_s;
  std::optional<double> gpu_busy_s;
  std::optional<double> gpu_idle_s;
  // Rate of the entitlement alone, per rank.
  std::optional<double> floor_samples_per_s;
  // Part of wall_s in which Penstock only observed the job. Of that part: the
  // core seconds that it would have been lent, and would have lent, and the
  // time that the same work would not have taken, with its interval.
  std::optional<double> observed_s;
  std::optional<double> would_borrow_core_s;
  std::optional<double> would_lend_core_s;
  std::optional<double> would_save_s;
  std::optional<double> would_save_low_s;
  std::optional<double> would_save_high_s;

  friend bool operator==(const RunTotals&, const RunTotals&) = default;
};

// The fields with their names in messages, documents and the history's table.
struct RunField {
  // Mean over the ranks, sum over the nodes, or one node's; unknown if one node
  // does not know it. The last two are of those nodes that know it.
  enum class OfNodes { kMean, kSum, kLowest, kKnownSum, kKnownHighest };

  const char* name = nullptr;
  double most = 0;  // upper bound in messages
  OfNodes of_nodes = OfNodes::kMean;
  std::optional<double> RunTotals::*figure = nullptr;  // nullptr: that of part
  WallPart part = WallPart::kCompute;

  template <class Run>
  constexpr auto& of(Run& run) const {
    return figure ? run.*figure : run.parts_s[part];
  }
};
inline constexpr double kMaxCoreSeconds =
    bounds::kMaxCores * bounds::kMaxSeconds;
inline constexpr auto kRunFields = [] {
  using enum RunField::OfNodes;
  constexpr double kSeconds = bounds::kMaxSeconds;
  constexpr size_t kFigures = 19;
  std::array<RunField, kFigures + kWallParts.size()> fields = {
      {{"wall_s", kSeconds, kMean, &RunTotals::wall_s},
       {"waited_s", kSeconds, kMean, &RunTotals::waited_s},
       {"active_s", kSeconds, kMean, &RunTotals::active_s},
       {"home_core_s", kMaxCoreSeconds, kSum, &RunTotals::home_core_s},
       {"away_core_s", kMaxCoreSeconds, kSum, &RunTotals::away_core_s},
       {"lent_core_s", kMaxCoreSeconds, kSum, &RunTotals::lent_core_s},
       {"guest_core_s", kMaxCoreSeconds, kSum, &RunTotals::guest_core_s},
       {"allocated_core_s", kMaxCoreSeconds, kSum,
        &RunTotals::allocated_core_s},
       {"used_core_s", kMaxCoreSeconds, kSum, &RunTotals::used_core_s},
       {"gpu_s", kMaxCoreSeconds, kKnownSum, &RunTotals::gpu_s},
       {"gpu_busy_s", kMaxCoreSeconds, kKnownSum, &RunTotals::gpu_busy_s},
       {"gpu_idle_s", kSeconds, kKnownHighest, &RunTotals::gpu_idle_s},
       {"floor_samples_per_s", bounds::kMaxRate, kLowest,
        &RunTotals::floor_samples_per_s},
       {"observed_s", kSeconds, kMean, &RunTotals::observed_s},
       {"would_borrow_core_s", kMaxCoreSeconds, kSum,
        &RunTotals::would_borrow_core_s},
       {"would_lend_core_s", kMaxCoreSeconds, kSum,
        &RunTotals::would_lend_core_s},
       {"would_save_s", kSeconds, kLowest, &RunTotals::would_save_s},
       {"would_save_low_s", kSeconds, kLowest, &RunTotals::would_save_low_s},
       {"would_save_high_s", kSeconds, kLowest,
        &RunTotals::would_save_high_s}}};
  for (const WallPartNames& it : kWallParts) {
    fields[kFigures + size_t(it.part)] = {it.seconds_key, kSeconds, kMean,
                                          nullptr, it.part};
  }
  return fields;
}();

// Sum of the parts; unknown parts count as 0.
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
// node lacks is unknown for the job, but for those of GPUs.
RunTotals of_all_nodes(const std::vector<NodeTotals>& nodes);

}  // namespace penstock
