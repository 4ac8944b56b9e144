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

struct Recommendation {
  std::string line;    // to paste: "#SBATCH --cpus-per-task=2", or a call
  std::string reason;  // one sentence without a full stop
  // Expected gain in throughput as a fraction. nullopt: unknown, or the advice
  // saves resources instead.
  std::optional<Estimate> gain;
};

// At most three, the most useful first. None if the run is shorter than
// recommend_after_s, or its pages were contradicted.
std::vector<Recommendation> recommend(const JobReport& report);

}  // namespace penstock
