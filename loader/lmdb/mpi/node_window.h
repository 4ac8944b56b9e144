// Shared memory of a node's ranks, from MPI.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/result.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {

class NodeWindow {
 public:
  // Whether /dev/shm has room for allocate(), which may hang without. To be
  // called on the first rank. Errors: kLimit  no room
  [[nodiscard]] static Status check_room(uint64_t bytes);
  // Collective over node; the first rank provides the memory. The last
  // `backed_bytes` are zeros; an access to the rest before back_memory() may be
  // a SIGBUS.
  // Errors: kLimit  no room in MPI's folder, or no memory. If only some ranks
  // fail, the others must abandon() their windows.
  [[nodiscard]] static Result<NodeWindow> allocate(PatientComm& node,
                                                   uint64_t bytes,
                                                   uint64_t backed_bytes);
  NodeWindow(NodeWindow&& other) noexcept;
  NodeWindow& operator=(NodeWindow&&) = delete;
  // Collective. Waits for all ranks of the node.
  ~NodeWindow();

  // Aligned for huge pages.
  uint8_t* memory() const { return memory_; }
  // Keeps the memory until the process ends: freeing would wait for ranks that
  // may never come.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  NodeWindow() = default;

  MPI_Win window_ = MPI_WIN_NULL;
  uint8_t* memory_ = nullptr;
};

}  // namespace penstock::lmdb
