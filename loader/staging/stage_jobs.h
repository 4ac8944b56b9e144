// The jobs of a share, as read from its file.
#pragma once

#include <cstdint>

#include "loader/staging/stage_file.h"
#include "loader/staging/stage_rules.h"

namespace penstock {

// Thread-safe. Any number of instances may exist. The file must outlive them.
class StageJobs {
 public:
  explicit StageJobs(const StageFile& file) : file_(file) {}

  // The window of the active jobs.
  StageWindow window() const;
  uint64_t active() const;  // number of active jobs
  // The newest batch ever claimed or passed over, + 1; 0: none.
  uint64_t newest() const;
  // Whether a living job reads the buffer, or may read it.
  bool is_held(uint32_t buffer) const;
  // Whether a slot names the buffer, for a batch in it or one to come.
  bool is_placed(uint32_t buffer) const;
  // From now on no job enters before this batch, unless it is already visible
  // as active.
  void raise_floor(uint64_t batch) const;
  // Frees the places of jobs that have ended. False: there were none.
  bool drop_ended() const;

 private:
  const StageFile& file_;
};

}  // namespace penstock
