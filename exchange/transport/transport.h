// How the ranks of a job reach each other: the few operations that an exchange
// needs, none of which waits. What is under it is MPI, or threads of one
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"

namespace penstock::exchange {

// For one thread at a time. Buffers that an operation was given are its own
// until test() says that it is done. Every operation but a message is one of
// all ranks, which begin these in the same order.
class Transport {
 public:
  // An operation that was begun.
  struct Request {
    size_t slot = 0;
  };

  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Room for so many operations at once; nothing is allocated afterwards.
  // REQUIRES: nothing has been begun.
  virtual void reserve(size_t requests) = 0;

  // Errors, of each of the following: kLimit  more than was reserved
  //                                   kIo     what is under it says why

  // Messages of one sender, receiver and tag arrive in the order in which they
  // were sent. tag: 0 to 32767.
  [[nodiscard]] virtual Result<Request> send(
      int to, int tag, std::span<const std::byte> message) = 0;
  // One that is longer than `room` is an error, of the receiver.
  [[nodiscard]] virtual Result<Request> receive(int from, int tag,
                                                std::span<std::byte> room) = 0;
  // all: size() x mine.size(), in the order of ranks.
  [[nodiscard]] virtual Result<Request> allgather(
      std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Whether a message of this sender and tag is there for a receive() to come.
  [[nodiscard]] virtual Result<bool> has_message(int from, int tag) = 0;

  // Whether it is done; it must not be asked for again then. received: of a
  // message, its bytes.
  [[nodiscard]] virtual Result<bool> test(Request request,
                                          size_t* received = nullptr) = 0;

  // Operations that test() found done: who waits for many sees one go on.
  uint64_t finished() const { return finished_; }

 protected:
  Transport() = default;
  uint64_t finished_ = 0;
};

}  // namespace penstock::exchange
