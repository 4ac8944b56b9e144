// A job profile: what one sample costs. Comes from a file (TOML or JSON, as
// `--loader-model=FILE` names it) or from the built-in table. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

struct Profile {
  std::string name;
  double accelerator_s_per_sample = 0;  // > 0
  double loader_cpu_s_per_sample = 0;   // >= 0, fetch and preparation
  double trainer_cpu_s_per_sample = 0;  // >= 0, the trainer's own
  double bytes_per_sample = 0;          // >= 0, from storage
  double cached_share = 0;              // 0..1 of bytes served by a cache
  std::string pool;                     // "" when it names none
  double relative_error = 0.25;         // half width of the interval, 0..1
  // Measured rate at whole numbers of loader cores, samples/s; empty: linear
  // (cores / loader_cpu_s_per_sample). points[i] belongs to i+1 cores.
  std::vector<double> rate_at_cores;
};

// Parses TOML, or JSON where the first character is '{'. Keys are the field
// names above. Unknown keys, wrong types and values out of range are refused.
// Errors: kInvalidArgument  "FILE: key: why".
[[nodiscard]] Result<Profile> parse_profile(std::string_view text,
                                            const std::string& file_name);

// Looks up the built-in table (Synergy's models, docs/model.md).
// Errors: kNotFound  lists the names there are.
[[nodiscard]] Result<Profile> builtin_profile(std::string_view name);
std::vector<std::string> builtin_profile_names();

}  // namespace penstock
