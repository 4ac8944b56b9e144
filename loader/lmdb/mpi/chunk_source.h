// Reads chunks of records into the node's buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/result.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/mpi/batch_plan.h"
#include "loader/lmdb/mpi/cached_blocks.h"
#include "loader/lmdb/mpi/mapped_file.h"
#include "loader/lmdb/mpi/node_ring.h"
#include "loader/lmdb/mpi/reader_options.h"
#include "penstock/loader/epoch_order.h"

namespace penstock::lmdb {

struct ReadCounts {
  uint64_t read_bytes = 0;  // requested from storage, or copied from the map
  uint64_t requests = 0;
  uint64_t fetch_ns = 0;  // summed over threads; includes waits for bandwidth
  uint64_t read_chunks = 0;
  uint64_t mapped_chunks = 0;

  ReadCounts& operator+=(const ReadCounts& other);
};

// For one thread.
class ChunkSource {
 public:
  ChunkSource() = default;
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;
  virtual ~ChunkSource() = default;

  // Returns memory for the chunk's bytes. Errors: kLimit  no memory
  using Room = std::function<Result<std::span<uint8_t>>()>;

  // Fills one entry for each position of the node's ranks, in order, and reads
  // the records' bytes into room(). True: the records are in the mapped file
  // instead; several ranks must then each call MappedFile::wait_for().
  // Errors: kIo  reading failed, or the file has become shorter; names the
  //              file and the offset
  //         kUnavailable  the database was written meanwhile
  //         kLimit        the records do not fit; those of room
  virtual Result<bool> fill(const StepChunk& chunk,
                            std::span<SlotEntry> entries, const Room& room) = 0;

  // Called before bytes are requested from storage; may block. An error ends
  // the chunk.
  using Pace = std::function<Status(uint64_t bytes)>;
  void set_pace(Pace pace) { pace_ = std::move(pace); }

  const ReadCounts& counts() const { return counts_; }

 protected:
  Status wait_for_bandwidth(uint64_t bytes) const {
    return pace_ ? pace_(bytes) : Done{};
  }
  ReadCounts counts_;

 private:
  Pace pace_;
};

// Plan of a run, common to all its sources.
struct RunPlan {
  BatchPlan batches;
  NodeRanks node;
  bool shuffle = false;
  EpochOrder order{1, 0};

  uint64_t record_at(uint64_t epoch, uint64_t position) const {
    return shuffle ? order.sample_at(epoch, position) : position;
  }
};

// A source that finds records by the index, and reads them, or copies them from
// the mapping (dio off). The caller owns all arguments that it refers to.
struct IndexReading {
  int direct_fd = -1;  // the file opened with O_DIRECT; -1: use the page cache
  // Common to all sources, if the page cache can hold the whole file: whole
  // blocks are then read into the cache. Null: it cannot.
  CachedBlocks* cached = nullptr;
};
std::unique_ptr<ChunkSource> make_index_source(const Database& database,
                                               const MappedFile& map,
                                               const RunPlan& plan,
                                               const ReaderOptions& options,
                                               const IndexReading& reading);

// A source with liblmdb's cursor, which walks from record to record (dm off).
// The caller owns all arguments that it refers to.
// Errors: those of LibraryReader::open_at()
Result<std::unique_ptr<ChunkSource>> make_cursor_source(
    const DataFile& file, const Snapshot& snapshot, const RunPlan& plan);

// Largest gap between two records that are read with one request.
inline constexpr uint64_t kGapBytes = 64 << 10;

}  // namespace penstock::lmdb
