// Where the v1 controllers are.
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

// The text of /proc/self/mounts. Pure.
// Errors: kInvalidArgument  names the line.
[[nodiscard]] Result<std::vector<MountEntry>> parse_mounts(
    std::string_view text);

// v1 hierarchies below one root ("/sys/fs/cgroup"), paths relative to it.
struct V1Mounts {
  // "cpu" -> "cpu,cpuacct". Only kV1Controllers; one that is not mounted has
  // no entry.
  std::map<std::string, std::string, std::less<>> path_of;

  // True where cpu shares a hierarchy with cpuacct: a thread that leaves
  // Slurm's cpu group there would leave Slurm's accounting.
  bool cpu_with_cpuacct() const;
};

inline constexpr const char* kV1Controllers[] = {"cpu",   "cpuset",  "cpuacct",
                                                 "blkio", "freezer", "memory"};

// A mount point seen from root: "cpu,cpuacct"; nothing where it is not below.
std::optional<std::string> mount_below(std::string_view target,
                                       std::string_view root);

// The mounts themselves where cpu and cpuset are among them. Pure.
// Errors: kUnavailable  they are not; the message names root.
[[nodiscard]] Result<V1Mounts> require_v1(V1Mounts mounts,
                                          const std::string& root);

// From a mount table's text. Pure.
// Errors: kUnavailable  neither cpu nor cpuset is there: no v1 machine.
[[nodiscard]] Result<V1Mounts> v1_mounts_from_table(std::string_view text,
                                                    const std::string& root);

// From the running system, through libcgroup. Not thread-safe.
// Errors: kUnavailable  no v1 controllers below root, or libcgroup failed.
[[nodiscard]] Result<V1Mounts> v1_mounts_of_system(const std::string& root);

}  // namespace penstock
