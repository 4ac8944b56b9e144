// A set of CPUs as the broker's messages carry it: one bit for each CPU number,
// the lowest bit of the first byte for CPU 0. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/units.h"

namespace penstock {

inline std::string to_bits(const CpuSet& cpus) {
  std::string bits;
  for (const int cpu : cpus.cpus()) {
    const auto at = static_cast<size_t>(cpu);
    if (bits.size() <= at / 8) bits.resize(at / 8 + 1);
    bits[at / 8] = static_cast<char>(bits[at / 8] | (1 << at % 8));
  }
  return bits;
}

// Ignores bits beyond CpuSet::kMaxCpus.
inline CpuSet from_bits(std::string_view bits) {
  std::vector<int> cpus;
  for (size_t at = 0; at < bits.size() * 8; ++at) {
    if ((bits[at / 8] >> at % 8 & 1) != 0) cpus.push_back(static_cast<int>(at));
  }
  return CpuSet(std::move(cpus));
}

}  // namespace penstock
