#include "loader/lmdb/page_batch.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#ifdef PENSTOCK_HAVE_LIBURING
#include <liburing.h>
#endif

namespace penstock::lmdb {
namespace {

Error read_failed(int errno_value, uint64_t offset) {
  Error error = system_error(errno_value,
                             "cannot read at byte " + std::to_string(offset));
  error.code = Code::kIo;
  return error;
}

Error ends_early(uint64_t offset) {
  return Error{Code::kIo, 0,
               "the file ends at byte " + std::to_string(offset) +
                   ", before what is to be read"};
}

bool is_transient(int errno_value) {
  return errno_value == EINTR || errno_value == EAGAIN;
}

Status pread_all(int fd, PageRange range) {
  while (!range.into.empty()) {
    const ssize_t got = ::pread(fd, range.into.data(), range.into.size(),
                                static_cast<off_t>(range.offset));
    if (got < 0 && is_transient(errno)) continue;
    if (got < 0) return read_failed(errno, range.offset);
    if (got == 0) return ends_early(range.offset);
    range.offset += static_cast<uint64_t>(got);
    range.into = range.into.subspan(static_cast<size_t>(got));
  }
  return Done{};
}

}  // namespace

#ifdef PENSTOCK_HAVE_LIBURING

class PageBatch::Ring {
 public:
  // Null if the kernel has no io_uring, or forbids it, as in many containers.
  static std::unique_ptr<Ring> open() {
    auto ring = std::make_unique<Ring>();
    ring->is_open_ = ::io_uring_queue_init(kDepth, &ring->ring_, 0) == 0;
    return ring->is_open_ && ring->can_read() ? std::move(ring) : nullptr;
  }
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  // The kernel refuses further requests on an open ring.
  bool is_refused() const { return is_refused_; }

  Status read(int fd, std::span<const PageRange> ranges) {
    // An empty read would look like the file's end.
    waiting_.clear();
    std::copy_if(ranges.rbegin(), ranges.rend(), std::back_inserter(waiting_),
                 [](const PageRange& range) { return !range.into.empty(); });
    Status status = Done{};
    // After an error no new read starts, but the kernel still writes to the
    // buffers of reads in flight, so these are awaited.
    while (under_way_ > 0 || (status && !waiting_.empty())) {
      if (status) fill(fd);
      const int submitted = ::io_uring_submit_and_wait(&ring_, 1);
      if (submitted < 0 && !is_transient(-submitted) && submitted != -EBUSY) {
        return read_without(fd, status);
      }
      take_finished(status);
    }
    return status;
  }

 private:
  // IORING_OP_READ came with Linux 5.6, io_uring with 5.1.
  bool can_read() {
    io_uring_probe* const probe = ::io_uring_get_probe_ring(&ring_);
    if (!probe) return false;
    const bool can = ::io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    ::io_uring_free_probe(probe);
    return can;
  }

  // Waits for submitted reads, as the kernel still writes to their buffers. The
  // others, which it never saw, are done with pread().
  Status read_without(int fd, Status status) {
    is_refused_ = true;
    while (under_way_ > ::io_uring_sq_ready(&ring_)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      take_finished(status);
    }
    waiting_.insert(waiting_.end(), slots_.begin(), slots_.end());
    for (const PageRange& range : waiting_) {
      if (!status) return status;
      status = pread_all(fd, range);
    }
    return status;
  }

  void fill(int fd) {
    while (!waiting_.empty() && under_way_ < kDepth) {
      io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
      if (!entry) return;
      const size_t slot = free_slot();
      slots_[slot] = waiting_.back();
      waiting_.pop_back();
      ++under_way_;
      const PageRange& range = slots_[slot];
      ::io_uring_prep_read(entry, fd, range.into.data(),
                           static_cast<unsigned>(range.into.size()),
                           range.offset);
      ::io_uring_sqe_set_data64(entry, slot);
    }
  }

  size_t free_slot() const {
    size_t slot = 0;
    while (!slots_[slot].into.empty()) ++slot;
    return slot;
  }

  void take_finished(Status& status) {
    io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
      const size_t slot = ::io_uring_cqe_get_data64(entry);
      const int got = entry->res;
      ::io_uring_cqe_seen(&ring_, entry);
      PageRange range = slots_[slot];
      slots_[slot] = PageRange{};
      --under_way_;
      finish(range, got, status);
    }
  }

  // A short read continues where it ended.
  void finish(PageRange range, int got, Status& status) {
    if (!status) return;
    if (got < 0 && !is_transient(-got)) {
      status = read_failed(-got, range.offset);
    } else if (got == 0) {
      status = ends_early(range.offset);
    } else if (got < 0 || static_cast<size_t>(got) < range.into.size()) {
      const size_t done = got < 0 ? 0 : static_cast<size_t>(got);
      waiting_.push_back({range.offset + done, range.into.subspan(done)});
    }
  }

  io_uring ring_{};
  bool is_open_ = false;
  bool is_refused_ = false;
  std::vector<PageRange> waiting_;  // taken from the back
  std::vector<PageRange> slots_{kDepth};
  size_t under_way_ = 0;
};

PageBatch::PageBatch(ReadWith with)
    : ring_(with == ReadWith::kBest ? Ring::open() : nullptr) {}

#else

class PageBatch::Ring {
 public:
  Status read(int, std::span<const PageRange>) { return Done{}; }
  bool is_refused() const { return false; }
};

PageBatch::PageBatch(ReadWith) {}

#endif

PageBatch::PageBatch(PageBatch&&) noexcept = default;
PageBatch& PageBatch::operator=(PageBatch&&) noexcept = default;
PageBatch::~PageBatch() = default;

Status PageBatch::read(int fd, std::span<const PageRange> ranges) {
  // io_uring has no advantage for a single read.
  if (ring_ && ranges.size() > 1) {
    Status got = ring_->read(fd, ranges);
    if (ring_->is_refused()) ring_.reset();
    return got;
  }
  for (const PageRange& range : ranges) {
    if (Status got = pread_all(fd, range); !got) return got;
  }
  return Done{};
}

}  // namespace penstock::lmdb
