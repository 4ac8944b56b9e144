// MPI collectives for long waits. MPI's own waits spin, which takes CPU time
// from the ranks that they wait for. Here waiters sleep.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/result.h"

namespace penstock::lmdb {

// Owns a communicator. Functions are collective over it, and for one thread at
// a time.
// Errors: kUnavailable  not all ranks came within timeout_ms; the communicator
//                       is then unusable
//         kIo           an MPI error
class PatientComm {
 public:
  PatientComm() = default;
  PatientComm(MPI_Comm owned, uint32_t timeout_ms);
  PatientComm(PatientComm&& other) noexcept;
  PatientComm& operator=(PatientComm&& other) noexcept;
  ~PatientComm();

  static Result<PatientComm> duplicate(MPI_Comm comm, uint32_t timeout_ms);
  // A communicator of this rank alone; not collective.
  static Result<PatientComm> alone(uint32_t timeout_ms);
  // The ranks with the same colour, in key order; null for MPI_UNDEFINED.
  // MPI_Comm_split() spins, and waits forever: call another collective directly
  // before, so that all ranks are there.
  Result<PatientComm> split(int colour, int key);
  // The ranks that can share memory. As split().
  Result<PatientComm> split_nodes();

  MPI_Comm get() const { return comm_; }
  explicit operator bool() const { return comm_ != MPI_COMM_NULL; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Never frees the communicator: after a failure that would wait for dead
  // ranks.
  void abandon() { comm_ = MPI_COMM_NULL; }

  [[nodiscard]] Status barrier();
  // Without a time limit; calls look about four times a second. Errors: also
  // those of look
  [[nodiscard]] Status barrier(const std::function<Status()>& look);
  // All ranks' bytes, concatenated, on every rank.
  [[nodiscard]] Result<std::string> gather_bytes(const std::string& mine);
  // All ranks' values, on every rank. If ranks pass errors, all ranks get the
  // error of the lowest such rank.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> share(const Status& mine,
                                             const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Result<std::string> all = share_bytes(mine, &value, sizeof value);
    if (!all) return std::move(all).error();
    std::vector<T> values(all->size() / sizeof value);
    std::memcpy(values.data(), all->data(), all->size());
    return values;
  }
  // share() without a value.
  [[nodiscard]] Status agree(const Status& mine);

 private:
  // Sleeps until the request is complete.
  Status finish(MPI_Request request, const char* what);
  // mine: of the same size on all ranks.
  Result<std::string> gather_equal(const std::string& mine);
  Result<std::string> share_bytes(const Status& mine, const void* value,
                                  size_t value_bytes);
  Status broadcast(std::string& bytes, int root);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  uint32_t timeout_ms_ = 0;
};

}  // namespace penstock::lmdb
