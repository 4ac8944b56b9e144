// What the kernel says of this process's memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace penstock::test {

// By its name in /proc/self/status, "RssAnon"; the process ends where there is
// none.
inline uint64_t memory_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::stoull(line.substr(name.size() + 1)) << 10;
  }
  std::abort();
}

}  // namespace penstock::test
