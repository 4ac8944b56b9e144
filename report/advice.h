// What a report means for its reader: one verdict, at most three
// recommendations. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

// A job waits for data in earnest from this share of its wall time on.
inline constexpr double kInputBoundShare = 0.05;

// One line without a newline: "Input-bound: 31% of step time waits for data
// (fetch 22%, prep 9%)", and where it is known, ", 4% for gradient exchange".
// The shares are rounded as rounded_shares() does.
std::string verdict(const JobReport& report);

struct Recommendation {
  std::string line;    // pasteable: "#SBATCH --cpus-per-task=2", or a call
  std::string reason;  // one sentence without a full stop
  // Expected gain in throughput as a fraction; nullopt where it is not known,
  // or the line saves resources instead.
  std::optional<Estimate> gain;
};

// At most three, the most useful first; none for a run shorter than
// recommend_after_s or whose pages were contradicted.
std::vector<Recommendation> recommend(const JobReport& report);

}  // namespace penstock
