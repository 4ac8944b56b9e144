// The memory of a share's buffers, which is had before they are used.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "loader/cache/shared_file.h"
#include "loader/memory_room.h"
#include "loader/staging/stage_file.h"

namespace penstock {
namespace {

// For the memory that the maker gets; then who waits gets it too.
constexpr int kMemoryTries = 10000;

std::string batches_text(uint64_t batches, uint64_t buffer_bytes) {
  return std::to_string(batches) + (batches == 1 ? " batch" : " batches") +
         " of " + std::to_string(buffer_bytes) + " bytes";
}

}  // namespace

// tmpfs may be full; where the job's memory does not do, the kernel would end
// the process.
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
  // Written to all over before.
  if (::lseek(fd_.get(), begin, SEEK_HOLE) >= begin + bytes) return Done{};
  return allocate_bytes(static_cast<uint64_t>(begin), shape_.buffer_bytes,
                        batches_text(1, shape_.buffer_bytes));
}

// To be read: the kernel maps pages around one that is read, not around one
// that is written to. Kernels before 5.14 do not know it, and map them later.
void StageFile::map_in(uint32_t index) const {
  if (is_mapped_in_[index].exchange(true)) return;
#ifdef MADV_POPULATE_READ
  (void)::madvise(buffer(index), shape_.buffer_bytes, MADV_POPULATE_READ);
#endif
}

// A buffer's memory is had before the buffer is used: where a page cannot be
// had later, the process dies. What is there already stays.
Status StageFile::get_memory() {
  Status allocated = allocate_bytes(
      stage_buffers_offset(shape_), shape_.window * shape_.buffer_bytes,
      batches_text(shape_.window, shape_.buffer_bytes));
  if (allocated) header().has_memory = 1;
  return allocated;
}

// Jobs that begin together would each get it otherwise.
Status StageFile::wait_for_memory() {
  for (int tried = 0; tried < kMemoryTries; ++tried) {
    if (header().has_memory == 1) return Done{};
    if (has_ended(header().maker, header().maker_generation)) break;
    pause_a_moment();
  }
  return get_memory();
}

}  // namespace penstock
