// This process's memory as the kernel reports it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace penstock::test {

// A value of /proc/self/status such as "RssAnon"; ends the process if it is
// missing.
inline uint64_t memory_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::stoull(line.substr(name.size() + 1)) << 10;
  }
  std::abort();
}

}  // namespace penstock::test
