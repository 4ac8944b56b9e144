// The memory that a node's ranks share, from MPI.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/result.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {

class NodeWindow {
 public:
  // Whether there is room for allocate(), which may otherwise wait for ever:
  // for the first rank to ask. Errors: kLimit  /dev/shm has none
  [[nodiscard]] static Status check_room(uint64_t bytes);
  // The last `backed_bytes` are zeros; touching the rest before back_memory()
  // may be a SIGBUS. Collective over node; the first rank gives the memory.
  // Errors: kLimit  MPI's folder, or memory, has no room for it. Ranks may get
  // it that others do not: those have to abandon() theirs.
  [[nodiscard]] static Result<NodeWindow> allocate(PatientComm& node,
                                                   uint64_t bytes,
                                                   uint64_t backed_bytes);
  NodeWindow(NodeWindow&& other) noexcept;
  NodeWindow& operator=(NodeWindow&&) = delete;
  // Collective. Waits for all ranks of the node.
  ~NodeWindow();

  // Where a huge page can begin.
  uint8_t* memory() const { return memory_; }
  // Leaves the memory to the process's end: others may never come to free it.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  NodeWindow() = default;

  MPI_Win window_ = MPI_WIN_NULL;
  uint8_t* memory_ = nullptr;
};

}  // namespace penstock::lmdb
