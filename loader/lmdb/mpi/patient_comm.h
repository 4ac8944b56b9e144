// MPI's collectives for ranks that wait long: the library's own waiting spins,
// which takes the CPU from whoever is waited for. Here waiters sleep.
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

  static Result<PatientComm> duplicate(MPI_Comm comm, uint32_t timeout_ms);
  // This rank alone; not collective.
  static Result<PatientComm> alone(uint32_t timeout_ms);
  // The part that has colour, in key order; null for MPI_UNDEFINED. MPI waits
  // by itself, and for ever: another collective has to come just before.
  Result<PatientComm> split(int colour, int key);
  // Ranks that can share memory. As split().
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
  // Each rank's bytes, one after the other, to all.
  [[nodiscard]] Result<std::string> gather_bytes(const std::string& mine);
  // Each rank's value, to all; if any rank has an error, all get that of the
  // lowest such rank instead.
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
  // share() of nothing.
  [[nodiscard]] Status agree(const Status& mine);

 private:
  // Sleeps until the request is complete.
  Status finish(MPI_Request request, const char* what);
  // Of the same size on all ranks.
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
