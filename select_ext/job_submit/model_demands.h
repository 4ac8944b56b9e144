// The needs of a job of each model, by the site's profiles.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// One entry per built-in profile and per NAME.toml and NAME.json in the
// directory, which may be missing. Files replace built-in profiles and .toml
// precedes .json, as in penstockd.
//   any       profile that also applies to jobs of other models; "": none
//   gpu_type  of the site's nodes, for profiles that describe a job without
//             one; "": several types, and those profiles get no entry
// Errors: kNotFound         there is no profile `any`
//         kInvalidArgument  parse_profile()'s, with the file
//         kIo and others    the directory or a file cannot be read
[[nodiscard]] Result<std::vector<ModelDemand>> model_demands(
    const std::string& profile_dir, const std::string& any,
    const std::string& gpu_type);

}  // namespace penstock::job_submit
