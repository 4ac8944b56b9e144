#include "loader/lmdb/mpi/node_window.h"

#include <string>
#include <utility>

#include "loader/lmdb/mpi/node_ring.h"

namespace penstock::lmdb {
namespace {

constexpr uint64_t kAlignment = 4096;

Error no_room(uint64_t bytes) {
  return Error{Code::kLimit, 0,
               "MPI_Win_allocate_shared gives no " + std::to_string(bytes) +
                   " bytes; enlarge /dev/shm, or set a smaller buffer_bytes"};
}

}  // namespace

Result<NodeWindow> NodeWindow::allocate(PatientComm& node, uint64_t bytes,
                                        uint64_t backed_bytes) {
  if (Status all = node.barrier(); !all) return std::move(all).error();
  NodeWindow window;
  void* base = nullptr;
  const uint64_t size = node.rank() == 0 ? bytes + kAlignment : 0;
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(size), 1, MPI_INFO_NULL,
                              node.get(), &base, &window.window_);
  Status mine = Done{};
  if (code != MPI_SUCCESS) {
    window.window_ = MPI_WIN_NULL;
    mine = no_room(bytes);
  }
  if (Status all = node.agree(mine); !all) {
    window.abandon();
    return std::move(all).error();
  }
  MPI_Aint found_bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window.window_, 0, &found_bytes, &unit, &base);
  // Mappings begin at pages, so that every process skips as much.
  const auto address = reinterpret_cast<uintptr_t>(base);
  window.memory_ =
      static_cast<uint8_t*>(base) +
      ((address + kAlignment - 1) / kAlignment * kAlignment - address);
  if (node.rank() == 0) mine = back_memory({window.memory_, backed_bytes});
  if (Status all = node.agree(mine); !all) return std::move(all).error();
  return window;
}

NodeWindow::NodeWindow(NodeWindow&& other) noexcept
    : window_(std::exchange(other.window_, MPI_WIN_NULL)),
      memory_(std::exchange(other.memory_, nullptr)) {}

NodeWindow::~NodeWindow() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

}  // namespace penstock::lmdb
