// What a job of each model needs, by the profiles that a site has.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// An entry for each built-in profile and for NAME.toml and NAME.json of the
// directory, which may be missing: those replace a built-in one, and .toml goes
// before .json, as where penstockd looks a name up.
//   any       the profile that also stands for jobs of other models; "": none
//             does
//   gpu_type  of the site's nodes, for profiles that describe a job and name
//             none; "": there are several, and those profiles have no entry
// Errors: kNotFound         there is no profile `any`
//         kInvalidArgument  parse_profile()'s, with the file
//         kIo and others    the directory or a file cannot be read
[[nodiscard]] Result<std::vector<ModelDemand>> model_demands(
    const std::string& profile_dir, const std::string& any,
    const std::string& gpu_type);

}  // namespace penstock::job_submit
