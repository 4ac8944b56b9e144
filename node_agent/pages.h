// The two pages of a task (common/page.h), as penstockd holds them.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/page.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// One reading of a progress page (common/page.h): every field read once.
struct Progress {
#define PENSTOCK_WORD(name) uint64_t name = 0;
#define PENSTOCK_HALF(name) uint32_t name = 0;
  PENSTOCK_PROGRESS_FIELDS(PENSTOCK_WORD, PENSTOCK_WORD, PENSTOCK_WORD,
                           PENSTOCK_HALF)
#undef PENSTOCK_HALF
#undef PENSTOCK_WORD
};

// The reading, with steps of `batch` samples each where it has steps and no
// samples; batch 0: not known.
Progress samples_counted(Progress progress, uint32_t batch);

struct Hint {
  uint32_t loader_threads = 1;
  uint64_t granted_millicores = 0;
  uint64_t rate_bytes_per_s = 0;
  bool kernel_limited = false;
};

class TaskPages {
 public:
  using Clock = uint64_t (*)();  // CLOCK_MONOTONIC

  // Makes both memfds, seals them against resizing, and the hint page against
  // any further writable mapping.
  // Errors: kIo  memfd_create, ftruncate, mmap or sealing failed.
  static Result<TaskPages> create();

  TaskPages(TaskPages&& other) noexcept;
  TaskPages& operator=(TaskPages&&) = delete;
  TaskPages(const TaskPages&) = delete;
  ~TaskPages();

  int progress_fd() const { return progress_fd_.get(); }
  int hint_fd() const { return hint_fd_.get(); }  // opened read-only

  // nullopt until the job has written something; also for a page whose
  // contents contradict themselves (magic, version, a follows_hint other
  // than 0 and 1, counters that went back or grew by more than a second's worth
  // of time per second): it counts as garbage and the job is treated as one
  // without a page.
  //   clock_ns  looked at after the page: we may be stopped meanwhile, and the
  //             job goes on
  std::optional<Progress> read(Clock clock_ns = monotonic_ns);
  bool garbage() const { return garbage_; }

  // Publishes a hint under the page's seqlock; a hint that changes nothing is
  // not written.
  void publish(const Hint& hint);

 private:
  TaskPages() = default;

  UniqueFd progress_fd_;
  UniqueFd hint_fd_;
  const volatile penstock_progress_page* progress_ = nullptr;
  penstock_hint_page* hint_ = nullptr;
  Progress last_;
  Hint published_;
  bool garbage_ = false;
};

}  // namespace penstock
