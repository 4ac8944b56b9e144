// Where `penstock advise` learns of a job: earlier runs, profiles, Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/job_number.h"
#include "common/result.h"
#include "tools/advise/advice.h"

namespace penstock {

// The cluster's nodes, as sinfo lists them, within five seconds.
// Errors: kNotFound  Slurm is not installed; kUnavailable  sinfo failed
[[nodiscard]] Result<std::vector<advise::NodeGroup>> ask_for_nodes();

// That job, whatever its kind.
// Errors: find_report()'s
[[nodiscard]] Result<advise::EarlierRun> run_of(const JobNumber& job,
                                                const Config& config);

// What is known of the caller's jobs of this kind.
struct KnownKind {
  std::optional<advise::EarlierRun> run;  // the latest with a report
  std::optional<Profile> profile;         // of several runs, without one
  size_t runs = 0;                        // of the kind
  bool is_of_name_only = false;           // the script or arguments differ
};
// Errors: kNotFound  no run of the kind
//         ask_pages()'s
[[nodiscard]] Result<KnownKind> known_kind(const advise::Request& request,
                                           const Config& config);

// The profile that the job names, or the site's for jobs without one, with the
// GPUs that it would get.
// Errors: kNotFound  it names none; find_profile()'s
[[nodiscard]] Result<Profile> profile_of(
    const advise::Request& request,
    const std::optional<std::vector<advise::NodeGroup>>& groups,
    const Config& config);

}  // namespace penstock
