// How a chunk of records comes into the node's buffer.
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
  uint64_t read_bytes = 0;  // asked of the storage, or copied from the mapping
  uint64_t requests = 0;
  uint64_t fetch_ns = 0;  // summed over threads, waits for bandwidth included
  uint64_t read_chunks = 0;
  uint64_t mapped_chunks = 0;

  ReadCounts& operator+=(const ReadCounts& other);
};

// Used by one thread each.
class ChunkSource {
 public:
  ChunkSource() = default;
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;
  virtual ~ChunkSource() = default;

  // Gives memory for the chunk's bytes. Errors: kLimit  there is none
  using Room = std::function<Result<std::span<uint8_t>>()>;

  // Fills in the first entries, one for each position of the node's ranks in
  // their order, and their bytes, unless they are mapped: true then, and where
  // there are several ranks, those have to wait for them (MappedFile).
  // Errors: kIo  reading failed, or the file has become shorter; names the
  //              file and the offset
  //         kUnavailable  the database was written meanwhile
  //         kLimit        the records do not fit, or room's
  virtual Result<bool> fill(const StepChunk& chunk,
                            std::span<SlotEntry> entries, const Room& room) = 0;

  // Asked before bytes are asked of the storage, if it is there. Errors: end
  // the chunk
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

// What all sources of a run have in common.
struct RunPlan {
  BatchPlan batches;
  NodeRanks node;
  bool shuffle = false;
  EpochOrder order{1, 0};

  uint64_t record_at(uint64_t epoch, uint64_t position) const {
    return shuffle ? order.sample_at(epoch, position) : position;
  }
};

// From the index: by reads, or by copying from the mapping (dio off).
// All that it refers to stays the caller's.
struct IndexReading {
  int direct_fd = -1;  // the file opened with O_DIRECT; -1: through the cache
  // Of all sources together, where the page cache can hold the whole file: it
  // is read into that, and what is beside a record with it. Null: it cannot.
  CachedBlocks* cached = nullptr;
};
std::unique_ptr<ChunkSource> make_index_source(const Database& database,
                                               const MappedFile& map,
                                               const RunPlan& plan,
                                               const ReaderOptions& options,
                                               const IndexReading& reading);

// With liblmdb's cursor, which walks from record to record (dm off). All that
// it refers to stays the caller's.
// Errors: LibraryReader::open_at()'s
Result<std::unique_ptr<ChunkSource>> make_cursor_source(
    const DataFile& file, const Snapshot& snapshot, const RunPlan& plan);

// What a record may lie apart from its neighbour to be read with it.
inline constexpr uint64_t kGapBytes = 64 << 10;

}  // namespace penstock::lmdb
