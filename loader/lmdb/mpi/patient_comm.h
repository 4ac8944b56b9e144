// MPI's collectives for ranks that wait long: the library's own waiting spins,
// which takes the CPU from whoever is waited for. Here waiters sleep.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/result.h"

namespace penstock::lmdb {

// Owns a communicator. Functions are collective over it and called by one
// thread at a time.
// Errors: kUnavailable  not all ranks came within the time; the communicator is
//                       of no more use
//         kIo           MPI refuses
class PatientComm {
 public:
  PatientComm() = default;
  PatientComm(MPI_Comm owned, uint32_t timeout_ms);
  PatientComm(PatientComm&& other) noexcept;
  PatientComm& operator=(PatientComm&& other) noexcept;
  ~PatientComm();

  // A copy of comm, or the part of it that has colour, in key order; null for
  // MPI_UNDEFINED.
  static Result<PatientComm> duplicate(MPI_Comm comm, uint32_t timeout_ms);
  Result<PatientComm> split(int colour, int key);
  // Ranks that can share memory.
  Result<PatientComm> split_nodes();

  MPI_Comm get() const { return comm_; }
  explicit operator bool() const { return comm_ != MPI_COMM_NULL; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Frees nothing any more: after a failure freeing would wait for the dead.
  void abandon() { comm_ = MPI_COMM_NULL; }

  [[nodiscard]] Status barrier();
  // Waits however long, and looks four times a second whether there is a reason
  // to give up. Errors: look's too
  [[nodiscard]] Status barrier(const std::function<Status()>& look);
  [[nodiscard]] Result<std::vector<uint64_t>> gather(uint64_t mine);  // to all
  [[nodiscard]] Status broadcast(void* bytes, size_t count, int root);
  // Each rank's bytes, one after the other, to all.
  [[nodiscard]] Result<std::string> gather_bytes(const std::string& mine);
  // If any rank has an error, all get that of the lowest such rank.
  [[nodiscard]] Status agree(const Status& mine);

  // Sleeps until the request is complete. Errors: as above
  [[nodiscard]] Status finish(MPI_Request request, const char* what);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  uint32_t timeout_ms_ = 0;
};

}  // namespace penstock::lmdb
