// Ranks that are threads of this process: for tests, and for whoever trains on
// several devices in one process. One rank is a job that is alone.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Thread-safe; it must outlive its ranks' transports.
class ThreadRanks {
 public:
  // REQUIRES: ranks >= 1
  explicit ThreadRanks(int ranks) : operations_(size_t(ranks)) {}
  ThreadRanks(const ThreadRanks&) = delete;
  ThreadRanks& operator=(const ThreadRanks&) = delete;

  // For the rank's thread; one for each.
  // REQUIRES: 0 <= rank < ranks
  std::unique_ptr<Transport> transport(int rank);

 private:
  friend class ThreadTransport;

  // What a rank has begun. Whoever brings the last one that it takes does it
  // for all of them.
  struct Operation {
    enum class Kind { kFree, kSend, kReceive, kAllgather };
    Kind kind = Kind::kFree;
    uint64_t number = 0;  // among the rank's messages, or operations of all
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
  std::vector<std::vector<Operation>> operations_;  // of each rank
  std::vector<Operation*> met_;  // meet()'s, which allocates nothing
};

}  // namespace penstock::exchange
