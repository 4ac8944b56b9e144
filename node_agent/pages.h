// The two shared pages of a rank (common/page.h), on penstockd's side.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/page.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// One reading of a progress page (common/page.h); each field is read once.
struct Progress {
#define PENSTOCK_WORD(name) uint64_t name = 0;
#define PENSTOCK_HALF(name) uint32_t name = 0;
  PENSTOCK_PROGRESS_FIELDS(PENSTOCK_WORD, PENSTOCK_WORD, PENSTOCK_WORD,
                           PENSTOCK_HALF)
#undef PENSTOCK_HALF
#undef PENSTOCK_WORD
};

// Returns the reading with samples = steps x batch, if it has steps but no
// samples. batch 0: unknown, no conversion.
Progress samples_counted(Progress progress, uint32_t batch);

struct Hint {
  uint32_t loader_threads = 0;  // 0: no hint; the program follows none
  uint64_t granted_millicores = 0;
  uint64_t rate_bytes_per_s = 0;
  bool kernel_limited = false;

  friend bool operator==(const Hint&, const Hint&) = default;
};

class TaskPages {
 public:
  using Clock = uint64_t (*)();  // CLOCK_MONOTONIC

  // Creates both memfds, and seals them against resizing. Seals the hint page
  // against new writable mappings.
  // Errors: kIo  memfd_create, ftruncate, mmap or sealing failed.
  static Result<TaskPages> create();

  TaskPages(TaskPages&& other) noexcept;
  TaskPages& operator=(TaskPages&&) = delete;
  TaskPages(const TaskPages&) = delete;
  ~TaskPages();

  int progress_fd() const { return progress_fd_.get(); }
  int hint_fd() const { return hint_fd_.get(); }  // opened read-only

  // Reads the progress page. nullopt: the job has not written yet, or the page
  // is garbage.
  //
  // A page is garbage from its first contradiction on: wrong magic or version,
  // a follows_hint above 1, a counter that decreased, a time in the future, or
  // more waiting time than elapsed time (1 s of clock skew is allowed). The job
  // then counts as one without a page.
  //
  //   clock_ns  called after the page is read: the job may run on while
  //             penstockd is stopped in between
  std::optional<Progress> read(Clock clock_ns = monotonic_ns);
  bool garbage() const { return garbage_; }

  // Publishes a hint under the page's seqlock. An unchanged hint is not
  // written.
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
