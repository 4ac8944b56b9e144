// A mount of the slow tier, from its beginning to its end.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace penstock {

struct SlowTierOptions {
  std::string source;
  std::string mountpoint;
  uint64_t latency_ns = 2'000'000;
  uint64_t bandwidth_bytes_per_s = 100u << 20;
  bool foreground = false;
};

// Mounts, and serves until SIGTERM, SIGINT, SIGHUP or an unmount; unmounts.
// Unless options.foreground is set the caller's process ends, successfully,
// when the mount is there, and what returns is a process in the background.
// Errors: kInvalidArgument  the mountpoint is below the source
//         kUnavailable      not mounted; libfuse has said why on standard error
//         kNotFound, kPermissionDenied, kIo  name the path
[[nodiscard]] Status run_slow_tier(const SlowTierOptions& options);

}  // namespace penstock
