// What the process's memory cgroup and those above it leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Of the group that leaves least.
struct MemoryRoom {
  uint64_t limit_bytes = 0;
  uint64_t left_bytes = 0;  // of the limit: what no process, no tmpfs and no
                            // kernel object has. Cached files can be given up
};

// root: what the system's files stand below, "" but in tests; group files are
// those of cgroup v1's memory controller and of cgroup v2.
// nullopt: no group has a limit.
std::optional<MemoryRoom> group_memory(const std::string& root = "");

}  // namespace penstock
