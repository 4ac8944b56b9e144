// Finds the block devices of the admin's paths. A child calls stat(), which
// hangs on a network file system without its server.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

struct PathDevice {
  std::string device;  // "MAJOR:MINOR"; "": no block device, or error
  int error = 0;       // errno of stat()

  friend bool operator==(const PathDevice&, const PathDevice&) = default;
};

// Returns the disk of a partition, because the kernel cannot limit partitions.
// Returns any other or unknown device unchanged. sys_dev_block: /sys/dev/block
// or a copy.
std::string whole_disk(const std::string& sys_dev_block,
                       const std::string& device);

// The child's output format, one line per path. Pure.
std::string format_path_devices(const std::vector<PathDevice>& devices);
// Errors: kInvalidArgument  malformed lines, or not one line per path.
[[nodiscard]] Result<std::vector<PathDevice>> parse_path_devices(
    std::string_view text, size_t paths);

inline constexpr uint64_t kPathDeadline_ms = 10'000;

// Calls back once, with one entry per path, or an error. kUnavailable: stat()
// hangs, or no child could run.
void find_path_devices(
    BoundedChildren& children, const std::vector<std::string>& paths,
    std::function<void(Result<std::vector<PathDevice>>)> callback);

}  // namespace penstock
