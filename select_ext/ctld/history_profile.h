// A profile from earlier runs of the same kind. Pure.
#pragma once

#include <optional>
#include <vector>

#include "predictor/profile.h"
#include "wire/job_record.h"

namespace penstock {

inline constexpr double kMinMeasured_s = 10;  // shorter runs are ignored
inline constexpr int kMaxRunsOfProfile = 20;

// Per rank; 0: unknown.
struct RunFigures {
  double ceiling_samples_per_s = 0;  // > 0
  double loader_cpu_s_per_sample = 0;
  double trainer_reserve_cores = 0;
  double storage_bytes_per_sample = 0;
};

// nullopt: the run measured no ceiling, or for less than kMinMeasured_s.
std::optional<RunFigures> figures_of(const JobRecord& record);

// Each figure is the geometric mean of the runs that measured it; 0 (unknown)
// if none did. relative_error is the half width of the interval that holds the
// next run's figures with 90% probability, by the spread of the runs
// (docs/model.md, section "Earlier runs").
// REQUIRES: 1 to kMaxRunsOfProfile runs.
Profile profile_of_runs(const std::vector<RunFigures>& runs,
                        const std::string& name);

}  // namespace penstock
