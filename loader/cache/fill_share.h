// Quota of a job for filling a cache, for all its processes on the node.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"
#include "loader/cache/cache_layout.h"

namespace penstock {

// Identifies the calling process's job: a hash of its Slurm job, else of its
// memory cgroup. Never 0.
uint64_t own_job_key();

struct FillCounts {
  uint64_t filled_bytes = 0;   // ready or being filled
  uint64_t settled_bytes = 0;  // ready; part of filled_bytes
};

// A job's entry in a share table. Thread-safe.
class FillShare {
 public:
  // Finds the job's entry, or takes a free one. The job's quota is the maximum
  // of most_bytes over its processes.
  // Errors: kLimit  no entry is free
  [[nodiscard]] static Result<FillShare> open(ShareTable& table, uint64_t key,
                                              uint64_t most_bytes);

  // REQUIRES: number < kShares.
  static FillShare at(ShareTable& table, uint32_t number) {
    return {&table.shares[number], number};
  }

  // For a process that stores nothing: quota 0, in no table.
  static FillShare none();

  uint32_t number() const { return number_; }
  uint64_t most_bytes() const { return share_->most_bytes; }
  uint64_t filled_bytes() const { return share_->filled_bytes; }
  FillCounts counts() const {
    // Settled first: bytes are counted as filled before they are settled.
    const uint64_t settled = share_->settled_bytes;
    return {share_->filled_bytes, settled};
  }

  // Counts bytes as being filled. False: they exceed the job's quota.
  [[nodiscard]] bool take(uint64_t bytes);
  void settle(uint64_t bytes);  // bytes that were taken are ready now
  // give() returns bytes that were not settled; give_settled() settled ones.
  // Counters stop at 0.
  void give(uint64_t bytes);
  void give_settled(uint64_t bytes);

  // True for one caller of the job per interval: whose turn it is to evict.
  [[nodiscard]] bool is_turn(uint64_t now_ns, uint64_t interval_ns);

 private:
  FillShare(ShareTable::Share* share, uint32_t number)
      : share_(share), number_(number) {}

  ShareTable::Share* share_;
  uint32_t number_;
};

}  // namespace penstock
