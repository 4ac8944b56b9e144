// Parts of a job's report for tests.
#pragma once

#include <vector>

#include "samples.h"

namespace penstock {

// Of a job with two ranks on c1, which computes, and one on c2, which waits.
inline std::vector<JobReport> two_parts() {
  JobReport fed = samples::input_bound();
  fed.tasks = fed.ranks = 2;
  fed.cores.node = 64;
  fed.breakdown = make_breakdown({.wall_s = 300,
                                  .parts = {.compute = {{290.0}, "told"},
                                            .fetch_stall = {{4.0}},
                                            .prep_stall = {{6.0}}},
                                  .waited_s = 10.0});
  fed.notes = {"the accelerator is emulated: a timed wait per step", "of c1"};
  fed.cores.lent_by = {{12, 0.5}, {0, 0.25}};
  fed.slowest_rank = SlowestRank{"c1", 2, 0, 0.1, 0.05, true};
  fed.gpus = {1, 1, 1.0, 10, 3e9, 80e9};
  fed.cores.not_lent = {{NotLent::kThreads, 0.5}};
  JobReport starved = samples::input_bound();
  starved.node = "c2";
  starved.cores.node = 64;
  starved.start_unix_s += 2;
  starved.updated_unix_s += 2;
  starved.end_unix_s = starved.updated_unix_s;
  starved.cores.lent_by = {{0, 0.5}};
  starved.slowest_rank = SlowestRank{"c2", 1, 3, 0.4, 0.35, false};
  starved.gpus = {4, 3, 0.2, 50, 2e9, 40e9};
  starved.cores.not_lent = {{NotLent::kNoCpus, 0.7}, {NotLent::kThreads, 0.3}};
  return {starved, fed};
}

}  // namespace penstock
