// Transport between threads of this process: for tests, and for training on
// several devices in one process. One rank is a job without peers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Thread-safe. Must outlive its transports.
class ThreadRanks {
 public:
  // REQUIRES: ranks >= 1
  explicit ThreadRanks(int ranks) : operations_(size_t(ranks)) {}
  ThreadRanks(const ThreadRanks&) = delete;
  ThreadRanks& operator=(const ThreadRanks&) = delete;

  // The transport for the thread of one rank. Call it once for each rank.
  // REQUIRES: 0 <= rank < ranks
  std::unique_ptr<Transport> transport(int rank);

 private:
  friend class ThreadTransport;

  // An operation that a rank has begun. The thread that begins the last of a
  // set of matching operations completes all of them.
  struct Operation {
    enum class Kind { kFree, kSend, kReceive, kAllgather };
    Kind kind = Kind::kFree;
    uint64_t number = 0;  // order among the rank's messages, or collectives
    int peer = 0;
    int tag = 0;
    std::span<const std::byte> given;
    std::span<std::byte> room;
    bool is_done = false;
    bool is_too_long = false;
    size_t received = 0;
  };
  using Kind = Operation::Kind;

  int size() const { return static_cast<int>(operations_.size()); }
  Operation* first(int rank, Kind kind, int peer, int tag);
  Operation* of_all(int rank, uint64_t number);
  static void deliver(Operation& send, Operation& receive);
  void meet(uint64_t number);
  static void gather(const std::vector<Operation*>& all);

  std::mutex mutex_;
  std::vector<std::vector<Operation>> operations_;  // by rank
  std::vector<Operation*> met_;  // reused by meet(), which must not allocate
};

}  // namespace penstock::exchange
