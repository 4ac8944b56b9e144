// Which block devices the admin's paths are on. A child asks: stat() on a
// network file system whose server is gone hangs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

struct PathDevice {
  std::string device;  // "MAJOR:MINOR" of a disk; "": on none, or error is set
  int error = 0;       // errno of stat()

  friend bool operator==(const PathDevice&, const PathDevice&) = default;
};

// The disk that a partition is on, as the kernel limits no partition; a device
// that is none, or is not found, is returned as it is. sys_dev_block: as
// /sys/dev/block.
std::string whole_disk(const std::string& sys_dev_block,
                       const std::string& device);

// What the child writes, one line a path, and reads back from it. Pure.
std::string format_path_devices(const std::vector<PathDevice>& devices);
// Errors: kInvalidArgument  not as many lines as paths, or not such lines.
[[nodiscard]] Result<std::vector<PathDevice>> parse_path_devices(
    std::string_view text, size_t paths);

inline constexpr uint64_t kPathDeadline_ms = 10'000;

// Calls back later, once, with one entry a path; kUnavailable: it hangs.
void find_path_devices(
    BoundedChildren& children, const std::vector<std::string>& paths,
    std::function<void(Result<std::vector<PathDevice>>)> callback);

}  // namespace penstock
