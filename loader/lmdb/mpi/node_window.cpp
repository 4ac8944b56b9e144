#include "loader/lmdb/mpi/node_window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "common/unique_fd.h"
#include "loader/lmdb/mpi/backed_memory.h"

namespace penstock::lmdb {
namespace {

Error no_room(uint64_t bytes) {
  return Error{Code::kLimit, 0,
               "there are no " + std::to_string(bytes) +
                   " bytes of shared memory for the buffer; enlarge /dev/shm, "
                   "or set a smaller buffer_bytes"};
}

}  // namespace

// If Open MPI's first rank finds no room, the other ranks wait for it forever
// (seen with 4.1), so the room is checked first.
Status NodeWindow::check_room(uint64_t bytes) {
  constexpr const char* kFolder = "/dev/shm";
  const uint64_t all_bytes = bytes + kHugePageBytes;
  struct statvfs room {};
  if (::statvfs(kFolder, &room) != 0) return Done{};
  if (room.f_bavail * room.f_frsize < all_bytes) return no_room(all_bytes);
  const UniqueFd trial(
      ::open(kFolder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!trial || ::ftruncate(trial.get(), static_cast<off_t>(all_bytes)) == 0) {
    return Done{};
  }
  return no_room(all_bytes);
}

Result<NodeWindow> NodeWindow::allocate(PatientComm& node, uint64_t bytes,
                                        uint64_t backed_bytes) {
  const uint64_t size = node.rank() == 0 ? bytes + kHugePageBytes : 0;
  NodeWindow window;
  void* base = nullptr;
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(size), 1, MPI_INFO_NULL,
                              node.get(), &base, &window.window_);
  if (code != MPI_SUCCESS) {
    window.abandon();
    return no_room(bytes);
  }
  MPI_Aint found_bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window.window_, 0, &found_bytes, &unit, &base);
  // Every process computes the same offset.
  window.memory_ = static_cast<uint8_t*>(base);
  window.memory_ += bytes_to_huge_page(window.memory_);
  if (node.rank() != 0) return window;
  uint8_t* const backed = window.memory_ + (bytes - backed_bytes);
  if (Status ok = back_memory({backed, backed_bytes}); !ok) {
    window.abandon();
    return std::move(ok).error();
  }
  // With a single rank on the node, Open MPI returns recycled memory.
  std::memset(backed, 0, backed_bytes);
  return window;
}

NodeWindow::NodeWindow(NodeWindow&& other) noexcept
    : window_(std::exchange(other.window_, MPI_WIN_NULL)),
      memory_(std::exchange(other.memory_, nullptr)) {}

NodeWindow::~NodeWindow() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

}  // namespace penstock::lmdb
