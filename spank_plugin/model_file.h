// Checks --loader-model where the user stands: in srun, sbatch and salloc.
#pragma once

#include <string_view>

#include "common/result.h"

namespace penstock::spank {

// A model with a '/' is a file's path, relative to directory unless absolute:
// it must be a readable regular file. One without is a profile's name: a
// built-in one, or profile_dir/NAME.toml or NAME.json must be there.
// Returns the absolute path, or the name as it is. Only looks: opens with the
// caller's own rights and reads nothing. source is what the user wrote it in,
// "--loader-model" or its variable, for the message.
// Errors: kInvalidArgument  for a person; says what there is to choose from.
[[nodiscard]] Result<std::string> resolve_model(std::string_view model,
                                                std::string_view directory,
                                                std::string_view profile_dir,
                                                std::string_view source);

}  // namespace penstock::spank
