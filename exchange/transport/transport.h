// Communication between the ranks of a job: the operations that an exchange
// needs, all non-blocking. Implemented over MPI, and over threads of one
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"

namespace penstock::exchange {

// Used by one thread at a time. An operation owns its buffers until test()
// returns true. Allgathers are collective: all ranks begin them in the same
// order.
class Transport {
 public:
  // A pending operation.
  struct Request {
    size_t slot = 0;
  };

  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sets how many operations may be pending at once; nothing is allocated
  // afterwards. REQUIRES: no operation is pending.
  virtual void reserve(size_t requests) = 0;

  // Errors of each function below:
  //   kLimit            more operations than reserved, or too long a message
  //   kInvalidArgument  threads only: matching operations differ in size
  //   kIo               the implementation's error

  // Messages of one sender, receiver and tag arrive in the order in which they
  // were sent. tag: 0 to 32767.
  [[nodiscard]] virtual Result<Request> send(
      int to, int tag, std::span<const std::byte> message) = 0;
  // A message longer than `room` is an error of the receiver's test().
  [[nodiscard]] virtual Result<Request> receive(int from, int tag,
                                                std::span<std::byte> room) = 0;
  // Collective. all: size() x mine.size() bytes, in the order of ranks.
  [[nodiscard]] virtual Result<Request> allgather(
      std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Whether a message of this sender and tag waits for a receive().
  [[nodiscard]] virtual Result<bool> has_message(int from, int tag) = 0;

  // Whether the operation is done; its request is invalid afterwards. received:
  // set to the message's length in bytes.
  [[nodiscard]] virtual Result<bool> test(Request request,
                                          size_t* received = nullptr) = 0;

  // Count of operations that test() found done: a caller that waits for many
  // sees progress by it.
  uint64_t finished() const { return finished_; }

 protected:
  Transport() = default;
  uint64_t finished_ = 0;
};

}  // namespace penstock::exchange
