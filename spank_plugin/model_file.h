// Checks the job's model in the user's command: srun, sbatch and salloc.
#pragma once

#include <string_view>

#include "common/result.h"

namespace penstock::spank {

// A model with a '/' is a file's path, relative to `directory` unless absolute;
// it must be a readable regular file. A model without a '/' is the name of a
// built-in profile, or of profile_dir/NAME.toml or NAME.json.
//
// Returns the absolute path, or the name unchanged. Opens the file with the
// caller's rights and reads nothing. source: the flag or its variable,
// for messages.
// Errors: kInvalidArgument  the message lists the allowed values.
[[nodiscard]] Result<std::string> resolve_model(std::string_view model,
                                                std::string_view directory,
                                                std::string_view profile_dir,
                                                std::string_view source);

}  // namespace penstock::spank
