// A thread of a reading rank. It fills its part of the node's chunks, in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "loader/lmdb/mpi/chunk_source.h"
#include "loader/lmdb/mpi/node_share.h"
#include "loader/lmdb/mpi/read_pacer.h"
#include "loader/lmdb/mpi/token_order.h"

namespace penstock::lmdb {

// Chunks first, first + stride, ... below end.
struct ChunkShare {
  uint64_t first = 0;
  uint64_t stride = 1;
  uint64_t end = 0;
};

class ReadingThread {
 public:
  struct Duties {
    ChunkShare chunks;
    TokenOrder tokens;          // with one reader, no turns are taken
    bool is_listening = false;  // for failures of other nodes
    uint32_t token_timeout_ms = 0;
  };

  // Starts the thread, which waits for begin(). The caller owns share, plan and
  // pacer. Errors of the thread go to share.fail().
  ReadingThread(NodeShare& share, const RunPlan& plan, ReadPacer& pacer,
                std::unique_ptr<ChunkSource> source, const Duties& duties);
  ReadingThread(const ReadingThread&) = delete;
  ReadingThread& operator=(const ReadingThread&) = delete;
  // Ends the thread after its current chunk.
  ~ReadingThread();
  void begin() { change_to(Phase::kReading); }

  // Counts up to the last chunk that was filled. Thread-safe.
  ReadCounts counts() const;

 private:
  enum class Phase { kWaiting, kReading, kStopping };
  void change_to(Phase phase) {
    phase_ = phase;
    phase_.notify_all();
  }
  void run();
  void read_all();
  Status read_chunk(uint64_t chunk);
  Status wait_turn(uint64_t turn);
  void pass_turn(uint64_t turn);
  Status look();
  void count(uint64_t fetch_ns);

  NodeShare& share_;
  const RunPlan& plan_;
  ReadPacer& pacer_;
  std::unique_ptr<ChunkSource> source_;
  Duties duties_;
  std::atomic<Phase> phase_{Phase::kWaiting};
  std::atomic<uint64_t> counts_[5] = {};
  std::thread thread_;  // last: it uses all other members
};

}  // namespace penstock::lmdb
