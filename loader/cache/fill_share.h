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

  uint32_t number() const { return number_; }
  uint64_t most_bytes() const { return share_->most_bytes; }
  uint64_t filled_bytes() const { return share_->filled_bytes; }

  // False: the job has filled its part.
  [[nodiscard]] bool take(uint64_t bytes);
  void give(uint64_t bytes);  // more than there is: all of it

  // True for one of the job's processes in every interval.
  [[nodiscard]] bool is_turn(uint64_t now_ns, uint64_t interval_ns);

 private:
  FillShare(ShareTable::Share* share, uint32_t number)
      : share_(share), number_(number) {}

  ShareTable::Share* share_;
  uint32_t number_;
};

}  // namespace penstock
