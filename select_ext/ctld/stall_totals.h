// Sums over runs of the history: GPU hours and what they were spent on, core
// hours, and what Penstock gained against the static split. Sums of sums are
// sums: pages of a history, and the tasks of an array, are added up alike.
// Plain values; pure.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "select_ext/ctld/job_record.h"

namespace penstock {

// A run's GPUs: those that Slurm counts, or where it counts none one for each
// rank (an emulated accelerator, a job on CPUs alone).
double gpus_of(const JobRecord& job);
// From Slurm's start to the end, or to when it was last seen; never less than
// the run's figures cover.
double ran_s(const JobRecord& job);

struct StallTotals {
  uint64_t runs = 0;
  uint64_t running = 0;      // of them, that had not ended
  uint64_t cores_known = 0;  // of them, whose core seconds are known

  double ran_gpu_h = 0;
  double stand_in_gpu_h = 0;   // of it, of runs for which Slurm counts no GPU
  double told_gpu_h = 0;       // of ran, covered by a breakdown
  double estimated_gpu_h = 0;  // of told, by the kernel's figures
  // Of told; what is left is unattributed. `known`: the hours in which that
  // part was known at all.
  double compute_gpu_h = 0, compute_known_gpu_h = 0;
  double fetch_stall_gpu_h = 0, fetch_stall_known_gpu_h = 0;
  double prep_stall_gpu_h = 0, prep_stall_known_gpu_h = 0;
  double exchange_stall_gpu_h = 0, exchange_stall_known_gpu_h = 0;
  double stalled_gpu_h = 0, stalled_known_gpu_h = 0;  // stalled_s()

  double home_core_h = 0;
  double away_core_h = 0;  // borrowed
  double lent_core_h = 0;  // by jobs; the rest of the borrowed were idle CPUs

  // Against the static split, over the judged hours: those that the job's rate
  // is of, where the rate and the floor are known. At its floor the job would
  // have taken rate / floor as long for what it did, so an hour at that rate
  // has gained rate / floor - 1 hours.
  double judged_gpu_h = 0;
  double gained_gpu_h = 0;       // where that is over 0
  double below_floor_gpu_h = 0;  // where it is under 0, as a positive figure

  void add(const JobRecord& job);
  void add(const StallTotals& other);

  double unattributed_gpu_h() const;
  friend bool operator==(const StallTotals&, const StallTotals&) = default;
};

nlohmann::json to_json(const StallTotals& totals);
// What is missing, of another kind, negative or not finite counts as 0.
StallTotals read_stall_totals(const nlohmann::json& object);

}  // namespace penstock
