// Memory of a share's buffers, allocated before their use.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "loader/cache/shared_file.h"
#include "loader/data/memory_room.h"
#include "loader/staging/stage_file.h"

namespace penstock {
namespace {

// 1 ms each: after 10 s a waiting process allocates the buffers itself.
constexpr int kMemoryTries = 10000;

std::string batches_text(uint64_t batches, uint64_t buffer_bytes) {
  return std::to_string(batches) + (batches == 1 ? " batch" : " batches") +
         " of " + std::to_string(buffer_bytes) + " bytes";
}

}  // namespace

// A full tmpfs only makes fallocate() fail. The memory cgroup is checked first,
// because beyond its limit the kernel kills the process.
Status StageFile::allocate_bytes(uint64_t offset, uint64_t bytes,
                                 const std::string& what) const {
  const auto room = group_memory();
  if (room && bytes > room->left_bytes) {
    return Error{Code::kLimit, 0,
                 path_ + ": " + what +
                     " do not fit into the job's memory cgroup, of which " +
                     std::to_string(room->left_bytes) + " bytes are left of " +
                     std::to_string(room->limit_bytes) +
                     "; a smaller window or batch takes less"};
  }
  int result = 0;
  do {
    result = ::fallocate(fd_.get(), 0, static_cast<off_t>(offset),
                         static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Done{};
  if (errno != ENOSPC && errno != ENOMEM) return system_error(errno, path_);
  return Error{Code::kLimit, errno,
               path_ + ": no memory in the tmpfs for " + what +
                   "; a smaller window or batch takes less"};
}

Status StageFile::allocate(uint32_t buffer) const {
  const auto begin = static_cast<off_t>(stage_buffers_offset(shape_) +
                                        buffer * shape_.buffer_bytes);
  const auto bytes = static_cast<off_t>(shape_.buffer_bytes);
  // No hole: the whole buffer has been written before.
  if (::lseek(fd_.get(), begin, SEEK_HOLE) >= begin + bytes) return Done{};
  return allocate_bytes(static_cast<uint64_t>(begin), shape_.buffer_bytes,
                        batches_text(1, shape_.buffer_bytes));
}

// Populates for reading: the kernel maps the pages around a page that is read,
// but not around one that is written. Kernels before 5.14 do not have this
// request; there pages are mapped at their first access.
void StageFile::map_in(uint32_t index) const {
  if (is_mapped_in_[index].exchange(true)) return;
#ifdef MADV_POPULATE_READ
  (void)::madvise(buffer(index), shape_.buffer_bytes, MADV_POPULATE_READ);
#endif
}

// Allocates the window's buffers before use: a process dies at a mapped page
// for which there is no memory. Existing contents stay.
Status StageFile::get_memory() {
  Status allocated = allocate_bytes(
      stage_buffers_offset(shape_), shape_.window * shape_.buffer_bytes,
      batches_text(shape_.window, shape_.buffer_bytes));
  if (allocated) header().has_memory = 1;
  return allocated;
}

// Waits for the creator's allocation: otherwise each of several jobs that start
// together would allocate.
Status StageFile::wait_for_memory() {
  for (int tried = 0; tried < kMemoryTries; ++tried) {
    if (header().has_memory == 1) return Done{};
    if (has_ended(header().maker, header().maker_generation)) break;
    pause_a_moment();
  }
  return get_memory();
}

}  // namespace penstock
