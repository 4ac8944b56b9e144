// The memory that a node's ranks share, from MPI.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/result.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {

class NodeWindow {
 public:
  // Zeros, all of them backed by memory already: what is missing would be a
  // SIGBUS at first touch. Collective over node; the first rank gives the
  // memory.
  // Errors, on all ranks: kLimit  /dev/shm, or MPI's folder, or memory has no
  //                               room for it; kIo; PatientComm's
  [[nodiscard]] static Result<NodeWindow> allocate(PatientComm& node,
                                                   uint64_t bytes);
  NodeWindow(NodeWindow&& other) noexcept;
  NodeWindow& operator=(NodeWindow&&) = delete;
  // Collective. Waits for all ranks of the node.
  ~NodeWindow();

  uint8_t* memory() const { return memory_; }  // aligned to 4096
  // Leaves the memory to the process's end: others may never come to free it.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  NodeWindow() = default;

  MPI_Win window_ = MPI_WIN_NULL;
  uint8_t* memory_ = nullptr;
};

// Writes zeros to memory and says so where it cannot be had, instead of dying
// of a signal. Errors: kLimit
[[nodiscard]] Status back_with_zeros(uint8_t* memory, uint64_t bytes);

}  // namespace penstock::lmdb
