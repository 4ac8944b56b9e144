// Sums over runs of the history: GPU hours by use, core hours, and Penstock's
// gain against the static split. Totals can be added up: pages of a history,
// and the tasks of an array, are summed the same way. Plain values; pure.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "wire/job_record.h"

namespace penstock {

// A run's GPUs as Slurm counts them. Without any, one per rank (an emulated
// accelerator, or a job on CPUs alone).
double gpus_of(const JobRecord& job);
// From Slurm's start to the run's end, or to when it was last seen. At least
// the time that the run's figures cover.
double ran_s(const JobRecord& job);

// Sums over the runs for which Penstock acted, or those that it only observed.
struct GroupTotals {
  uint64_t runs = 0;
  double gpu_h = 0;          // of their breakdowns
  double stalled_gpu_h = 0;  // stalled_s()
  // Of each run's stalled share of its time, and of the squares of these.
  double shares = 0;
  double squares = 0;

  friend bool operator==(const GroupTotals&, const GroupTotals&) = default;
};

// The mean stalled share of the observed runs less that of the others, with its
// 95% interval (Welch's standard error, normal approximation).
struct GroupDifference {
  double value = 0;
  double low = 0;
  double high = 0;
};
// nullopt: a group has fewer than kLeastRuns.
inline constexpr uint64_t kLeastRuns = 20;
std::optional<GroupDifference> difference_of(const GroupTotals& observed,
                                             const GroupTotals& acted);

struct StallTotals {
  uint64_t runs = 0;
  uint64_t running = 0;      // runs that had not ended
  uint64_t cores_known = 0;  // runs with known core seconds

  double ran_gpu_h = 0;
  double stand_in_gpu_h = 0;   // part of it, of runs without a GPU in Slurm
  double told_gpu_h = 0;       // part of ran_gpu_h covered by a breakdown
  double estimated_gpu_h = 0;  // part of told_gpu_h with the kernel's figures
  // Parts of told_gpu_h; the rest is unattributed. `known`: the hours of runs
  // in which that part is known.
  PerWallPart<double> parts_gpu_h, known_gpu_h;
  double stalled_gpu_h = 0, stalled_known_gpu_h = 0;  // stalled_s()

  double home_core_h = 0;
  double away_core_h = 0;   // on borrowed CPUs
  double lent_core_h = 0;   // lent by jobs; other away hours: idle CPUs
  double guest_core_h = 0;  // of away_core_h, by guests

  // Gain against the static split, over the judged hours: those that a job's
  // mean rate covers, where the rate and the floor are known. At its floor rate
  // the job would have needed rate / floor times as long. So one hour at its
  // rate has gained rate / floor - 1 hours.
  double judged_gpu_h = 0;
  double gained_gpu_h = 0;       // sum of the positive gains
  double below_floor_gpu_h = 0;  // sum of the negative gains, made positive

  // Runs while they were only observed: their hours, those in which the saving
  // is known, the hours that lending would have saved of these, with the sums
  // of the intervals' ends, and what would have been borrowed and lent.
  double observed_gpu_h = 0;
  double would_judged_gpu_h = 0;
  double would_save_gpu_h = 0;
  double would_save_low_gpu_h = 0;
  double would_save_high_gpu_h = 0;
  double would_borrow_core_h = 0;
  double would_lend_core_h = 0;

  // Runs that were observed for all, or none, of their time.
  GroupTotals observed;
  GroupTotals acted;

  void add(const JobRecord& job);
  void add(const StallTotals& other);

  double unattributed_gpu_h() const;
  friend bool operator==(const StallTotals&, const StallTotals&) = default;
};

nlohmann::json to_json(const StallTotals& totals);
// A figure that is missing, of another type, negative or not finite counts as
// 0.
StallTotals read_stall_totals(const nlohmann::json& object);

}  // namespace penstock
