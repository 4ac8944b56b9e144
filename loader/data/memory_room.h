// Memory that the process's memory cgroup and its ancestors leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Of the group that leaves least.
struct MemoryRoom {
  uint64_t limit_bytes = 0;
  uint64_t left_bytes = 0;  // limit less the use by processes, tmpfs and kernel
                            // objects; cached files count as free
};

// Reads cgroup v1's memory controller and cgroup v2. nullopt: no group has a
// limit.
//   root  prefix of /proc and /sys; "" except in tests
std::optional<MemoryRoom> group_memory(const std::string& root = "");

}  // namespace penstock
