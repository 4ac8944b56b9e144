// Reads a stock LMDB file over the ranks of an MPI program: each epoch has each
// record once, on one rank. One or more ranks of a node read for all of its
// ranks (docs/lmdb.md).
//
// The records of a step and their order depend on the file, the seed and the
// size of the global batch. They do not depend on the number of ranks, nodes or
// readers, nor on the way of reading.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/result.h"
#include "loader/lmdb/mpi/chunk_source.h"
#include "loader/lmdb/mpi/reader_options.h"
#include "penstock/loader/pipeline.h"

namespace penstock::lmdb {

struct RecordView {
  const uint8_t* data = nullptr;  // of the value
  uint64_t bytes = 0;
  uint64_t index = 0;  // the record's number in key order
};

// A rank's part of a step. Its records are valid until release(), the next call
// of next(), or the reader's destruction.
struct RecordBatch {
  uint64_t epoch = 0;
  uint64_t step = 0;                    // of the epoch
  std::span<const RecordView> records;  // may be empty at the epoch's end
};

// Facts about the reading, for reports.
struct ReaderFacts {
  uint64_t records = 0;
  uint64_t steps = 0;  // of an epoch
  uint64_t buffer_bytes = 0;
  uint32_t chunk_steps = 0;
  bool is_reading = false;  // reads for its node; the rest is of such a rank
  bool is_direct = false;
  bool is_from_sidecar = false;
  std::string sidecar_refusal;  // why it is not
  double index_s = 0;           // time to find the records' positions
};

// For one thread. The reader's own threads call MPI only if it was initialised
// with MPI_THREAD_MULTIPLE. Staggering, and failures of other nodes being
// reported, need that.
class LmdbReader {
 public:
  // Collective over world, with the same path and options. Waits without
  // spinning.
  //   path  a folder with data.mdb, or a data file
  //   link  used if this rank reads for its node. Its rate is one rank's, so a
  //         reader multiplies it by the number of ranks that it reads for. Its
  //         thread count is ignored: a reader has two threads. liblmdb's
  //         reading (dm off) is never limited.
  // Errors, the same on all ranks:
  //   kInvalidArgument  those of check_options(); options differ; not an LMDB
  //                     database, or an unsupported kind; O_DIRECT was required
  //                     and is refused
  //   kNotFound, kPermissionDenied, kIo   of the file
  //   kUnavailable      ranks see different states of the database, or ranks of
  //                     a node different files; a rank did not come; stag
  //                     without MPI_THREAD_MULTIPLE
  //   kLimit            the buffer is too small, or no memory for it; no thread
  //                     could be started
  [[nodiscard]] static Result<std::unique_ptr<LmdbReader>> create(
      MPI_Comm world, const std::string& path, const ReaderOptions& options,
      PipelineLink link = {});
  LmdbReader(const LmdbReader&) = delete;
  LmdbReader& operator=(const LmdbReader&) = delete;
  // Collective over the node's ranks. After a failure it is not, and shared
  // memory and communicators are kept until the process ends.
  virtual ~LmdbReader() = default;

  // This rank's part of the next step; nullopt after the last epoch. All ranks
  // get the same number of batches.
  // Errors: kIo           reading failed, or the file became shorter; names
  //                       file and offset
  //         kUnavailable  a rank of the node has died, or closed its reader;
  //                       another node did not pass its turn on; the database
  //                       was written meanwhile
  //         kLimit        a record does not fit (without dm)
  //   All ranks of the node get the error; ranks of other nodes get it prefixed
  //   with "on another node". Afterwards every call fails.
  [[nodiscard]] virtual Result<std::optional<RecordBatch>> next() = 0;
  // Releases the batch before the next call of next().
  // Errors: kUnavailable  as above; the batch's data may be of another state
  [[nodiscard]] virtual Status release() = 0;

  virtual const ReaderFacts& facts() const = 0;
  // Of this rank as a reader, so far. fetch_ns is the fetch time for Penstock's
  // progress; the caller itself measures its waits in next().
  virtual ReadCounts counts() const = 0;

 protected:
  LmdbReader() = default;
};

}  // namespace penstock::lmdb
