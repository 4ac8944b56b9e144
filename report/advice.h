// Interpretation of a report: one verdict, at most three recommendations. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

// A job is input-bound from this share of its wall time on.
inline constexpr double kInputBoundShare = 0.05;

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

struct Recommendation {
  // To paste, all together: "#SBATCH --cpus-per-task=2", "num_workers=2".
  std::vector<std::string> lines;
  std::string reason;  // one sentence without a full stop
  // Expected gain in throughput as a fraction. nullopt: unknown, or the advice
  // saves resources instead.
  std::optional<Estimate> gain;
};

// At most three, the most useful first. None if the run is shorter than
// recommend_after_s, or its pages were contradicted.
std::vector<Recommendation> recommend(const JobReport& report);

}  // namespace penstock
