#include "loader/lmdb/mpi/backed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include "common/unique_fd.h"

namespace penstock::lmdb {
namespace {

// Defined here because bookworm's <sys/mman.h> lacks them.
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14
constexpr int kCollapse = 25;       // MADV_COLLAPSE, Linux 6.1

// The mapping at an address.
struct Mapping {
  bool is_shared = false;
  uint64_t offset = 0;  // of the address, in the file
};

Mapping mapping_at(const uint8_t* address) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> maps(
      std::fopen("/proc/self/maps", "re"));
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  char line[512];
  while (maps && std::fgets(line, sizeof line, maps.get())) {
    uint64_t begin = 0, end = 0, offset = 0;
    char kinds[5] = "";
    // The rest of an overlong line does not match the format.
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64, &begin, &end,
                    kinds, &offset) == 4 &&
        begin <= wanted && wanted < end) {
      return {kinds[3] == 's', offset + (wanted - begin)};
    }
  }
  return {};
}

int advise(uint8_t* begin, uint64_t bytes, int advice) {
  int code = 0;
  do {
    code = ::madvise(begin, bytes, advice);
  } while (code != 0 && (errno == EINTR || errno == EAGAIN));
  return code;
}

// A second mapping of shared memory, at an address aligned for huge pages;
// MPI's own mapping may have any alignment.
class AlignedAlias {
 public:
  AlignedAlias(uint8_t* begin, uint64_t bytes)
      : room_bytes_(bytes + kHugePageBytes),
        room_(::mmap(nullptr, room_bytes_, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (room_ == MAP_FAILED) return;
    const auto address = reinterpret_cast<uintptr_t>(room_);
    auto* const place = static_cast<uint8_t*>(room_) +
                        (kHugePageBytes - address % kHugePageBytes);
    // With an old size of 0, mremap() makes a second mapping of the same pages.
    const void* const alias =
        ::mremap(begin, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (alias != MAP_FAILED) data_ = place;
  }
  AlignedAlias(const AlignedAlias&) = delete;
  AlignedAlias& operator=(const AlignedAlias&) = delete;
  ~AlignedAlias() {
    if (room_ != MAP_FAILED) ::munmap(room_, room_bytes_);
  }

  uint8_t* data() const { return data_; }  // null: it failed

 private:
  uint64_t room_bytes_;
  void* room_;
  uint8_t* data_ = nullptr;
};

// A tmpfs gets huge pages only by its mount options or by a machine-wide
// setting, which is usually "never". MADV_COLLAPSE makes huge pages of existing
// memory regardless of both.
void collapse(uint8_t* begin, uint64_t bytes) {
  const AlignedAlias alias(begin, bytes);
  for (uint64_t at = 0; alias.data() && at < bytes; at += kHugePageBytes) {
    // MADV_COLLAPSE needs at least one page to be present.
    if (advise(alias.data() + at, 1, kPopulateWrite) != 0 ||
        advise(alias.data() + at, kHugePageBytes, kCollapse) != 0) {
      return;
    }
  }
}

// Best effort: on failure the memory has small pages.
void ask_for_huge_pages(std::span<uint8_t> bytes) {
  const uint64_t skipped = bytes_to_huge_page(bytes.data());
  if (skipped >= bytes.size()) return;
  uint8_t* const begin = bytes.data() + skipped;
  const uint64_t whole =
      (bytes.size() - skipped) / kHugePageBytes * kHugePageBytes;
  if (whole == 0) return;
  if (mapping_at(begin).is_shared) {
    collapse(begin, whole);
  } else {
    ::madvise(begin, whole, MADV_HUGEPAGE);
  }
}

// For Linux before 5.14. In read() the kernel touches the pages, so missing
// memory is an error instead of a signal.
bool write_zeros(std::span<uint8_t> bytes) {
  const UniqueFd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  while (zeros && !bytes.empty()) {
    const ssize_t got = ::read(zeros.get(), bytes.data(),
                               std::min<size_t>(bytes.size(), 1 << 20));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return bytes.empty();
}

}  // namespace

uint64_t bytes_to_huge_page(const uint8_t* address) {
  const Mapping mapping = mapping_at(address);
  const uint64_t place =
      mapping.is_shared ? mapping.offset : reinterpret_cast<uintptr_t>(address);
  return (kHugePageBytes - place % kHugePageBytes) % kHugePageBytes;
}

Status back_memory(std::span<uint8_t> bytes) {
  ask_for_huge_pages(bytes);
  const int code = advise(bytes.data(), bytes.size(), kPopulateWrite);
  if (code == 0 || (errno == EINVAL && write_zeros(bytes))) return Done{};
  return Error{Code::kLimit, 0,
               "no shared memory for " + std::to_string(bytes.size()) +
                   " bytes of the buffer; enlarge /dev/shm or the job's "
                   "memory, or set a smaller buffer_bytes"};
}

}  // namespace penstock::lmdb
