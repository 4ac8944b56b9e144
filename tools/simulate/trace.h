// Jobs of a simulation, parsed from published traces. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/curve.h"

namespace penstock::simulate {

// Full demand of a job under Synergy's policies, per GPU.
struct FullDemand {
  double cores = 0;
  double memory_gb = 0;
  double speedup = 1;  // rate at full demand over the fair rate
};

struct TraceJob {
  uint64_t id = 0;
  std::string model;
  double arrival_s = 0;
  double iterations = 0;
  int gpus = 1;
  // Measured iterations/s of one rank by its loader cores; not always concave.
  std::vector<allocator::MeasuredPoint> curve;
  double ceiling = 0;    // iterations/s of one rank if data is never late
  FullDemand full;       // Synergy's traces only
  double fair_rate = 0;  // Synergy's traces only: iterations/s at speed 1
};

// Iterations/s of one rank: linear from (0,0) through the measured points, at
// most the ceiling.
double measured_rate(const TraceJob& job, double cores);

// The fewest cores with which a rank reaches its ceiling.
double ceiling_cores(const TraceJob& job);

struct TraceOptions {
  // Synergy's profiles, for its traces (as in
  // tests/fixtures/synergy/profiles.json).
  std::string profiles_json;
  double memory_gb_per_gpu = 62.5;  // column of the profiles' tables
  // Muri: core seconds per iteration of a rank = resource_time_0 x this.
  double core_scale = 3;
  std::vector<std::string> left_out_models;
  size_t max_jobs = 0;  // 0: all
};

// Parses Synergy's format `id,model,arrival_s,iterations,gpus` without a
// header, or Muri's table, which is recognised by its header.
// Errors: kInvalidArgument  names the line (of the trace) or the field (of the
//                          profiles), its value and what is allowed
[[nodiscard]] Result<std::vector<TraceJob>> parse_trace(
    std::string_view text, const TraceOptions& options);

}  // namespace penstock::simulate
