// How much of a cache one job may fill, all its processes on the node together.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"
#include "loader/cache/cache_layout.h"

namespace penstock {

// What stands for the calling process's job: its Slurm job, else its memory
// cgroup. Never 0.
uint64_t own_job_key();

struct FillCounts {
  uint64_t filled_bytes = 0;   // and being filled
  uint64_t settled_bytes = 0;  // of these, what is there for certain
};

// A job's entry in a share table, thread-safe.
class FillShare {
 public:
  // The job's entry, or a free one, which is the job's from then on. The most
  // that any process of the job names counts.
  // Errors: kLimit  none is free
  [[nodiscard]] static Result<FillShare> open(ShareTable& table, uint64_t key,
                                              uint64_t most_bytes);

  // REQUIRES: number < kShares.
  static FillShare at(ShareTable& table, uint32_t number) {
    return {&table.shares[number], number};
  }

  // Of a process that puts nothing in: a share of nothing, no job's.
  static FillShare none();

  uint32_t number() const { return number_; }
  uint64_t most_bytes() const { return share_->most_bytes; }
  uint64_t filled_bytes() const { return share_->filled_bytes; }
  FillCounts counts() const {
    // In this order: what is settled is counted as filled.
    const uint64_t settled = share_->settled_bytes;
    return {share_->filled_bytes, settled};
  }

  // False: the job has filled its part.
  [[nodiscard]] bool take(uint64_t bytes);
  void settle(uint64_t bytes);  // what was taken is there now
  // Of both more than there is means all of it.
  void give(uint64_t bytes);  // what was taken, and not settled
  void give_settled(uint64_t bytes);

  // True for one of the job's processes in every interval.
  [[nodiscard]] bool is_turn(uint64_t now_ns, uint64_t interval_ns);

 private:
  FillShare(ShareTable::Share* share, uint32_t number)
      : share_(share), number_(number) {}

  ShareTable::Share* share_;
  uint32_t number_;
};

}  // namespace penstock
