#include "node_agent/pages.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

#include "common/memfd.h"

namespace penstock {
namespace {

constexpr int kResizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Result<UniqueFd> make_page(const char* name) {
  Result<UniqueFd> fd = create_memfd(name);
  if (fd && ::ftruncate(fd->get(), PENSTOCK_PAGE_BYTES) != 0) {
    return system_error(errno, "ftruncate of a page");
  }
  return fd;
}

Result<void*> map_page(int fd, int protection) {
  void* page =
      ::mmap(nullptr, PENSTOCK_PAGE_BYTES, protection, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return system_error(errno, "mmap of a page");
  return page;
}

Status seal(int fd, int seals) {
  if (::fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) {
    return system_error(errno, "sealing a page");
  }
  return Done{};
}

// Opens the memfd again, read-only.
Result<UniqueFd> reopen_read_only(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader) return system_error(errno, "reopening the hint page");
  return reader;
}

// The clocks of different CPUs may differ.
constexpr uint64_t kSkewNs = 1'000'000'000;

// Counters never decrease, and no time in the page exceeds the elapsed time.
bool is_plausible(const Progress& before, const Progress& now,
                  uint64_t now_ns) {
#define NOTHING PENSTOCK_PROGRESS_NOTHING
#define CHECK(name) \
  if (now.name < before.name) return false;
  PENSTOCK_PROGRESS_FIELDS(NOTHING, CHECK, NOTHING, NOTHING)
#undef CHECK
#undef NOTHING
  if (now.updated_ns < before.updated_ns || now.follows_hint > 1) return false;
  const uint64_t latest_ns = now_ns + kSkewNs;
  if (now.updated_ns > latest_ns || now.started_ns > latest_ns) return false;
  // delay_ns is not checked: the run delays of several threads may add up to
  // more.
  return std::max(now.wait_ns, now.exchange_ns) <= latest_ns - now.started_ns;
}

}  // namespace

Progress samples_counted(Progress progress, uint32_t batch) {
  if (progress.samples > 0 || batch == 0) return progress;
  progress.samples = std::min(progress.steps, UINT64_MAX / batch) * batch;
  return progress;
}

Result<TaskPages> TaskPages::create() {
  TaskPages pages;
  Result<UniqueFd> progress = make_page("penstock-progress");
  if (!progress) return std::move(progress).error();
  Result<UniqueFd> hint = make_page("penstock-hint");
  if (!hint) return std::move(hint).error();

  Result<void*> mapped = map_page(progress->get(), PROT_READ);
  if (!mapped) return std::move(mapped).error();
  pages.progress_ = static_cast<const penstock_progress_page*>(*mapped);
  Result<void*> writable = map_page(hint->get(), PROT_READ | PROT_WRITE);
  if (!writable) return std::move(writable).error();
  pages.hint_ = static_cast<penstock_hint_page*>(*writable);
  pages.hint_->magic = PENSTOCK_HINT_MAGIC;
  pages.hint_->version = PENSTOCK_PAGE_VERSION;

  Status sealed = seal(progress->get(), kResizeSeals);
  if (!sealed) return std::move(sealed).error();
  sealed = seal(hint->get(), kResizeSeals | F_SEAL_FUTURE_WRITE);
  if (!sealed) return std::move(sealed).error();
  Result<UniqueFd> reader = reopen_read_only(hint->get());
  if (!reader) return std::move(reader).error();
  pages.progress_fd_ = *std::move(progress);
  pages.hint_fd_ = *std::move(reader);
  return pages;
}

TaskPages::TaskPages(TaskPages&& other) noexcept
    : progress_fd_(std::move(other.progress_fd_)),
      hint_fd_(std::move(other.hint_fd_)),
      progress_(std::exchange(other.progress_, nullptr)),
      hint_(std::exchange(other.hint_, nullptr)),
      last_(other.last_),
      published_(other.published_),
      garbage_(other.garbage_) {}

TaskPages::~TaskPages() {
  if (progress_ != nullptr) {
    ::munmap(const_cast<penstock_progress_page*>(progress_),
             PENSTOCK_PAGE_BYTES);
  }
  if (hint_ != nullptr) ::munmap(hint_, PENSTOCK_PAGE_BYTES);
}

std::optional<Progress> TaskPages::read(Clock clock_ns) {
  if (garbage_) return std::nullopt;
  const uint32_t magic = progress_->magic;
  if (magic == 0) return std::nullopt;
  const uint32_t version = progress_->version;
  Progress now;
  // updated_ns is read first, so that all other fields are at least as new.
  const uint64_t updated_ns = progress_->updated_ns;
  std::atomic_thread_fence(std::memory_order_acquire);
#define READ(name) now.name = progress_->name;
  PENSTOCK_PROGRESS_FIELDS(READ, READ, READ, READ)
#undef READ
  now.updated_ns = updated_ns;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (magic != PENSTOCK_PROGRESS_MAGIC || version != PENSTOCK_PAGE_VERSION ||
      !is_plausible(last_, now, clock_ns())) {
    garbage_ = true;
    return std::nullopt;
  }
  if (now.updated_ns == 0) return std::nullopt;
  last_ = now;
  return now;
}

void TaskPages::publish(const Hint& hint) {
  if (hint == published_) return;
  published_ = hint;
  std::atomic_ref<uint32_t> sequence(hint_->sequence);
  sequence.fetch_add(1, std::memory_order_acq_rel);  // odd: write in progress
  hint_->loader_threads = hint.loader_threads;
  hint_->granted_millicores = hint.granted_millicores;
  hint_->rate_bytes_per_s = hint.rate_bytes_per_s;
  hint_->kernel_limited = hint.kernel_limited ? 1 : 0;
  hint_->grant_version = hint_->grant_version + 1;
  sequence.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace penstock
