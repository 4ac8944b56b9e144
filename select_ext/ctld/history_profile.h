// A profile from earlier runs of the same kind. Pure.
#pragma once

#include <optional>
#include <vector>

#include "predictor/profile.h"
#include "select_ext/ctld/job_record.h"

namespace penstock {

inline constexpr double kMinMeasured_s = 10;  // of a run that teaches
inline constexpr int kMaxRunsOfProfile = 20;

// Each figure is the geometric mean of the runs that measured it for
// kMinMeasured_s or longer (the first kMaxRunsOfProfile of them); one that none
// measured is 0, "not known". relative_error is the half width of the interval
// in which the next run's figures lie with 90% probability, by the spread of
// the runs: docs/model.md, section "Earlier runs". nullopt: no run teaches a
// ceiling.
std::optional<Profile> profile_of_runs(const std::vector<JobRecord>& runs,
                                       const std::string& name);

}  // namespace penstock
