// Finds the mount points of the v1 controllers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

struct MountEntry {
  std::string source;
  std::string target;  // octal escapes (\040) resolved
  std::string type;    // "cgroup", "cgroup2", "ext4"
  std::vector<std::string> options;
};

// Parses the text of /proc/self/mounts. Pure.
// Errors: kInvalidArgument  the message names the malformed line.
[[nodiscard]] Result<std::vector<MountEntry>> parse_mounts(
    std::string_view text);

// v1 hierarchies below one root ("/sys/fs/cgroup"), paths relative to it.
struct V1Mounts {
  // "cpu" -> "cpu,cpuacct". Only mounted controllers of kV1Controllers.
  std::map<std::string, std::string, std::less<>> path_of;

  // Whether cpu and cpuacct share a hierarchy. If so, a thread that leaves
  // Slurm's cpu group also leaves Slurm's accounting.
  bool cpu_with_cpuacct() const;
};

inline constexpr const char* kV1Controllers[] = {"cpu",   "cpuset",  "cpuacct",
                                                 "blkio", "freezer", "memory"};

// A mount point relative to root ("cpu,cpuacct"); nullopt if not below root.
std::optional<std::string> mount_below(std::string_view target,
                                       std::string_view root);

// Reads the running system's v1 mounts through libcgroup. Not thread-safe.
// Errors: kUnavailable  no v1 controllers below root, or libcgroup failed.
[[nodiscard]] Result<V1Mounts> v1_mounts_of_system(const std::string& root);

}  // namespace penstock
