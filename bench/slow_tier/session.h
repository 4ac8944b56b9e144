// The lifetime of a mount of the slow tier.
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

// Mounts, serves until SIGTERM, SIGINT, SIGHUP or an unmount, and unmounts.
// Unless options.foreground is set, the calling process exits with success once
// the mount is ready. The function then returns in a background process.
// Errors: kInvalidArgument  the mountpoint is below the source
//         kUnavailable      not mounted; libfuse has printed the reason on
//                           standard error
//         kNotFound, kPermissionDenied, kIo  name the path
[[nodiscard]] Status run_slow_tier(const SlowTierOptions& options);

}  // namespace penstock
