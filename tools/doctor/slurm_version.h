// Slurm's versions, as programs print them and as plugins carry them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock::doctor {

struct SlurmVersion {
  int major = 0;
  int minor = 0;
  int micro = 0;

  std::string to_string() const;  // "22.05.8"
  std::string release() const;    // "22.05"
  // Plugins are compatible within a release; job_submit plugins only with the
  // exact version.
  bool same_release(const SlurmVersion& other) const {
    return major == other.major && minor == other.minor;
  }
  // NOLINTNEXTLINE(modernize-use-nullptr): in compiler-generated code
  friend auto operator<=>(const SlurmVersion&, const SlurmVersion&) = default;
};

// The first version in a program's output: "slurm-wlm 22.05.8", "slurm
// 24.11.0-0rc1".
// Errors: kInvalidArgument  the text has none.
[[nodiscard]] Result<SlurmVersion> parse_slurm_version(std::string_view text);

// A plugin's plugin_version: 0x160508 for 22.05.8.
SlurmVersion slurm_version_of(uint32_t plugin_version);

}  // namespace penstock::doctor
