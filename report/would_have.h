// What lending would have done for a job that Penstock only observed. Plain
// values; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/estimate.h"

namespace penstock {

struct JobReport;

// How long a job would have had this many lent cores.
struct TimeWithLoan {
  double cores = 0;
  double seconds = 0;
};

struct WouldHave {
  double observed_s = 0;  // part of the run
  // Averages over observed_s: cores that it would have been lent, and those of
  // its own that other jobs would have used.
  double borrowed_cores = 0;
  double lent_cores = 0;
  // The part of observed_s that the same work would not have taken. nullopt:
  // unknown, and why.
  std::optional<Estimate> saved_s;
  std::string unknown;

  friend bool operator==(const WouldHave&, const WouldHave&) = default;
};

// The rate that the job would have had on average, relative to the one that it
// had, less 1. nullopt: unknown.
std::optional<Estimate> gain_of(const WouldHave& would_have);

// In words, for a report: one sentence each, without a full stop.
std::vector<std::string> would_have_texts(const WouldHave& would_have);

// The report of several nodes: cores are added up. Their ranks have one rate,
// so that the job saves what the node that saves least does.
std::optional<WouldHave> of_all_nodes(const std::vector<JobReport>& parts);

// Fills saved_s, or unknown, from the report's what-if curve: for each time,
// the gain of that many more cores. Storage is assumed to stay as it was.
//   report  the job's, with its what-if curve
void estimate_saving(const JobReport& report,
                     const std::vector<TimeWithLoan>& times,
                     WouldHave& would_have);

}  // namespace penstock
