// Interpretation of a report: one verdict, at most three recommendations. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

// A job is input-bound from this share of its wall time on.
inline constexpr double kInputBoundShare = 0.05;

// Where a stall is expected to go, at least this part of it does: another limit
// may come before.
inline constexpr double kLeastOfStall = 0.5;

// One line without a newline: "Input-bound: 31% of step time waits for data
// (fetch 22%, prep 9%)", and if known, ", 4% for gradient exchange". Shares are
// rounded by rounded_shares().
std::string verdict(const JobReport& report);

// What the trainer waited for, where that is told apart.
struct DataWaits {
  std::optional<double> cpu_s;
  std::optional<double> storage_s;
};
DataWaits data_waits(const Breakdown& breakdown);

// Whether its trainers wait for storage for kInputBoundShare of the time.
bool waits_for_storage(const JobReport& report);

// The line that asks for this bandwidth of a node.
std::string bandwidth_line(double bytes_per_s);

// At most three, the most useful first. None if the run is shorter than
// recommend_after_s, or its pages were contradicted.
std::vector<Recommendation> recommend(const JobReport& report);

// The launch problems whose lines are not those of a recommendation already.
std::vector<LaunchProblem> further_problems(const JobReport& report);

}  // namespace penstock
