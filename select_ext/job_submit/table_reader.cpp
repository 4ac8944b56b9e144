#include "select_ext/job_submit/table_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/unique_fd.h"

namespace penstock::job_submit {
namespace {

// A write takes some microseconds. A writer that was stopped during a write is
// not waited for.
constexpr int kTries = 3;

// Odd, so never the sequence of a complete table.
constexpr uint32_t kNoSequence = 1;

// memcpy() from the mapping that fails if the file was truncated. A plain load
// would raise SIGBUS and end slurmctld.
bool copy_mapped(void* to, const void* from, size_t size_bytes) {
  const iovec local{to, size_bytes};
  const iovec remote{const_cast<void*>(from), size_bytes};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size_bytes);
}

// Runs find(header, read) on a snapshot between two writes.
template <class Find>
LookUp look_up(const TableImage* mapped, const Find& find) {
  const auto read = [&](size_t offset, void* to, size_t size_bytes) {
    return copy_mapped(to, reinterpret_cast<const std::byte*>(mapped) + offset,
                       size_bytes);
  };
  for (int i = 0; i < kTries; ++i) {
    TableHeader header;
    if (!read(0, &header, sizeof header)) return {false, kCutShort};
    if (header.sequence % 2 != 0) continue;
    std::atomic_thread_fence(std::memory_order_acquire);
    LookUp found{false, header_fault(header)};
    if (found.fault == nullptr) found = find(header, read);
    std::atomic_thread_fence(std::memory_order_acquire);
    uint32_t after = 0;
    if (!read(offsetof(TableHeader, sequence), &after, sizeof after))
      return {false, kCutShort};
    if (after == header.sequence) return found;
  }
  return {false, "being written all the time"};
}

const char* file_fault(const struct stat& file, std::optional<uid_t> writer) {
  if (!S_ISREG(file.st_mode)) return "not a regular file";
  if (file.st_uid != 0 && file.st_uid != ::geteuid() && file.st_uid != writer)
    return "its owner is none of root, SlurmUser and ControllerUser";
  if (file.st_mode & (S_IWGRP | S_IWOTH))
    return "writable by its group or by others";
  if (file.st_size != sizeof(TableImage)) return "not of a demand table's size";
  return nullptr;
}

}  // namespace

const char* TableReader::open(const char* path, std::optional<uid_t> writer) {
  close();
  const UniqueFd fd(
      ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!fd) return "cannot be opened";
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return "cannot be looked at";
  errno = 0;
  if (const char* fault = file_fault(file, writer)) return fault;
  void* mapped =
      ::mmap(nullptr, sizeof(TableImage), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return "cannot be mapped";
  mapped_ = static_cast<const TableImage*>(mapped);
  cache_.header.sequence = kNoSequence;
  return nullptr;
}

void TableReader::close() {
  if (mapped_ == nullptr) return;
  ::munmap(const_cast<TableImage*>(mapped_), sizeof(TableImage));
  mapped_ = nullptr;
}

// A read of the mapping takes 4 us in slurmctld, where CPU caches are cold, and
// a search needs about ten reads. The cache needs one.
LookUp TableReader::model(std::string_view name, ModelDemand& entry) const {
  if (cache_taken_.exchange(true, std::memory_order_acquire))
    return look_up_model(name, entry);
  const LookUp found = cached_model(name, entry);
  cache_taken_.store(false, std::memory_order_release);
  return found;
}

LookUp TableReader::look_up_model(std::string_view name,
                                  ModelDemand& entry) const {
  return look_up(mapped_, [&](const TableHeader& header, const auto& read) {
    return find_model(header, name, read, entry);
  });
}

// REQUIRES: the caller holds the cache.
LookUp TableReader::cached_model(std::string_view name,
                                 ModelDemand& entry) const {
  TableHeader header;
  if (!copy_mapped(&header, mapped_, sizeof header)) return {false, kCutShort};
  if (const char* fault = header_fault(header)) return {false, fault};
  const bool is_whole = header.sequence % 2 == 0;
  // published_s too, because a new file counts from sequence 0 again.
  const bool is_cached = header.sequence == cache_.header.sequence &&
                         header.published_s == cache_.header.published_s;
  if (!is_whole || (!is_cached && !refresh_cache(header)))
    return look_up_model(name, entry);
  const auto read = [&](size_t offset, void* to, size_t size_bytes) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(&cache_) + offset,
                size_bytes);
    return true;
  };
  return find_model(cache_.header, name, read, entry);
}

// False if a write happened during the copy.
// REQUIRES: the header's sequence is even.
bool TableReader::refresh_cache(const TableHeader& header) const {
  cache_.header.sequence = kNoSequence;
  std::atomic_thread_fence(std::memory_order_acquire);
  uint32_t after = 0;
  Cache& cache = cache_;
  if (!copy_mapped(cache.models, mapped_->models, sizeof cache.models))
    return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!copy_mapped(&after, &mapped_->header.sequence, sizeof after) ||
      after != header.sequence)
    return false;
  cache.header = header;
  return true;
}

LookUp TableReader::job(uint32_t job_id, JobDemand& job) const {
  return look_up(mapped_, [&](const TableHeader& header, const auto& read) {
    return find_job(header, job_id, read, job);
  });
}

}  // namespace penstock::job_submit
