// The policies of the allocation, named by penstock.conf's Policy.
#pragma once

#include <cstddef>

namespace penstock {

enum class Policy {
  kThroughput,  // max sum of weighted x/ceiling
  kFair,        // max sum of weighted log x
  kMaxMin,      // lexicographic max-min of x/ceiling
  kEven,        // no lending; splits every pool evenly among the running
                // managed jobs (the baseline of A-Dloader, for comparison)
};

// In the order of the enum.
inline constexpr const char* kPolicyNames[] = {"throughput", "fair", "maxmin",
                                               "even"};

constexpr const char* policy_name(Policy policy) {
  return kPolicyNames[static_cast<size_t>(policy)];
}

inline constexpr Policy kDefaultPolicy = Policy::kThroughput;

// False: jobs keep what Slurm gave them; nothing is to be solved.
constexpr bool lends(Policy policy) { return policy != Policy::kEven; }

}  // namespace penstock
