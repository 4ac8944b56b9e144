#include "loader/lmdb/mpi/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace penstock::lmdb {
namespace {

// cachestat(2), which bookworm's headers lack.
constexpr long kSysCachestat = 451;
struct CachestatRange {
  uint64_t offset;
  uint64_t bytes;
};
struct CachestatCounts {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

uint64_t system_page_bytes() {
  static const auto kBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

// Linux 6.5 and later. Some kernels refuse it for other users' files.
enum class Cached { kNo, kYes, kUnknown };
Cached ask_cachestat(int fd, uint64_t offset, uint64_t bytes) {
  CachestatRange range{offset, bytes};
  CachestatCounts counts{};
  if (::syscall(kSysCachestat, fd, &range, &counts, 0) != 0) {
    return Cached::kUnknown;
  }
  const uint64_t page = system_page_bytes();
  const uint64_t pages = (offset + bytes + page - 1) / page - offset / page;
  return counts.cached >= pages ? Cached::kYes : Cached::kNo;
}

// Tests one byte of the first page and one of the last.
bool reads_without_waiting(int fd, uint64_t offset, uint64_t bytes) {
  for (const uint64_t place : {offset, offset + bytes - 1}) {
    char byte;
    const iovec into{&byte, 1};
    if (::preadv2(fd, &into, 1, static_cast<off_t>(place), RWF_NOWAIT) != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<MappedFile> MappedFile::map(int fd, uint64_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return system_error(errno,
                        "cannot map " + std::to_string(bytes) + " bytes");
  }
  return MappedFile(fd, static_cast<const uint8_t*>(data), bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : fd_(other.fd_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<uint8_t*>(data_), bytes_);
}

bool MappedFile::is_whole() const {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 &&
         static_cast<uint64_t>(status.st_size) >= bytes_;
}

// Requests pieces of 128 KiB: the kernel ignores bytes of a request beyond its
// readahead size, which is mostly that.
void MappedFile::ask_for(uint64_t offset, uint64_t bytes) const {
  constexpr uint64_t kPiece = 128 << 10;
  const uint64_t end = std::min(offset + bytes, bytes_);
  for (uint64_t at = offset; at < end; at += kPiece) {
    ::posix_fadvise(fd_, static_cast<off_t>(at),
                    static_cast<off_t>(std::min(kPiece, end - at)),
                    POSIX_FADV_WILLNEED);
  }
}

Result<bool> MappedFile::populate(Stretch stretch) const {
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ
  const uint64_t first =
      stretch.offset / system_page_bytes() * system_page_bytes();
  void* const begin = const_cast<uint8_t*>(data_) + first;
  int code = 0;
  do {
    code =
        ::madvise(begin, stretch.offset + stretch.bytes - first, kPopulateRead);
  } while (code != 0 && (errno == EINTR || errno == EAGAIN));
  if (code == 0) return true;
  if (errno == EINVAL) return false;
  Error error =
      system_error(errno == EFAULT ? EIO : errno,
                   "cannot read at byte " + std::to_string(stretch.offset));
  error.code = Code::kIo;
  return error;
}

Result<bool> MappedFile::wait_for(std::span<Stretch> stretches) const {
  const auto before = [](const Stretch& a, const Stretch& b) {
    return a.offset < b.offset;
  };
  if (!std::is_sorted(stretches.begin(), stretches.end(), before)) {
    std::sort(stretches.begin(), stretches.end(), before);
  }
  // Joins neighbours to one call: a page may have many records.
  for (size_t i = 0; i < stretches.size();) {
    Stretch all = stretches[i];
    for (; i < stretches.size(); ++i) {
      const Stretch& next = stretches[i];
      if (next.offset > all.offset + all.bytes + system_page_bytes()) break;
      all.bytes = std::max(all.bytes, next.offset + next.bytes - all.offset);
    }
    Result<bool> is_there = populate(all);
    if (!is_there || !*is_there) return is_there;
  }
  return true;
}

bool MappedFile::is_cached(Stretch stretch) const {
  if (stretch.bytes == 0) return true;
  const Cached cached = ask_cachestat(fd_, stretch.offset, stretch.bytes);
  return cached == Cached::kYes ||
         (cached == Cached::kUnknown &&
          reads_without_waiting(fd_, stretch.offset, stretch.bytes));
}

bool MappedFile::is_cached(std::span<const RecordSpan> records,
                           bool is_stretch) const {
  if (records.empty()) return true;
  if (is_stretch) {
    const auto [first, last] = std::minmax_element(
        records.begin(), records.end(),
        [](const auto& a, const auto& b) { return a.offset < b.offset; });
    const uint64_t end = last->offset + last->bytes;
    // Without cachestat() only the ends of a stretch are tested, so each record
    // is tested below.
    const Cached cached =
        ask_cachestat(fd_, first->offset, end - first->offset);
    if (cached != Cached::kUnknown) return cached == Cached::kYes;
  }
  return std::all_of(records.begin(), records.end(),
                     [this](const RecordSpan& record) {
                       return is_cached(Stretch{record.offset, record.bytes});
                     });
}

}  // namespace penstock::lmdb
