// The jobs of a share, as any of its processes sees them.
#pragma once

#include <cstdint>

#include "loader/staging/stage_file.h"
#include "loader/staging/stage_rules.h"

namespace penstock {

// Thread-safe, and as many of them as one likes. The file must outlive it.
class StageJobs {
 public:
  explicit StageJobs(const StageFile& file) : file_(file) {}

  // Of the jobs that are active.
  StageWindow window() const;
  uint64_t active() const;  // how many
  // The newest batch that was ever claimed or passed over, + 1; 0: none was.
  uint64_t newest() const;
  // Whether a living job reads that buffer, or may.
  bool is_held(uint32_t buffer) const;
  // Whether a batch stands in it, or is to.
  bool is_placed(uint32_t buffer) const;
  // Nobody comes in before this batch any more, who has not before it is seen.
  void raise_floor(uint64_t batch) const;
  // Gives the places of jobs that have ended back. False: there was none.
  bool drop_ended() const;

 private:
  const StageFile& file_;
};

}  // namespace penstock
