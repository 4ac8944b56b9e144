// Reads a stock LMDB file over the ranks of an MPI program: every epoch each
// record once, on one of the ranks. Per node one rank, or some, read for all of
// the node's (docs/lmdb.md).
//
// Which records a step has, and in which order, depends on the file, the seed
// and the size of the global batch, not on the number of ranks, nodes, readers
// or on how they read.
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

namespace penstock::lmdb {

struct RecordView {
  const uint8_t* data = nullptr;  // of the value
  uint64_t bytes = 0;
  uint64_t index = 0;  // the record's number in key order
};

// A rank's part of a step. Its records are valid until release(), the next
// next(), or the reader's end.
struct RecordBatch {
  uint64_t epoch = 0;
  uint64_t step = 0;                    // of the epoch
  std::span<const RecordView> records;  // may be none at the epoch's end
};

// How a reader reads, for reports.
struct ReaderFacts {
  uint64_t records = 0;
  uint64_t steps = 0;  // of an epoch
  uint64_t buffer_bytes = 0;
  uint32_t chunk_steps = 0;
  bool is_reading = false;  // this rank reads for its node; what follows is its
  bool is_direct = false;
  bool is_from_sidecar = false;
  std::string sidecar_refusal;  // why it is not
  double index_s = 0;           // until places were known
};

// Used by one thread. Readers call MPI from threads of their own only if MPI
// was initialised with MPI_THREAD_MULTIPLE; nodes that take turns, and nodes
// that are to learn of others' failures, need that.
class LmdbReader {
 public:
  // path: a folder with data.mdb, or a data file. Collective over world, with
  // the same path and options. Sleeps where it waits.
  // Errors, on all ranks the same:
  //   kInvalidArgument  check_options()'s; options differ; a file that is no
  //                     LMDB database, or of a kind that is not read; O_DIRECT
  //                     was asked for and is refused
  //   kNotFound, kPermissionDenied, kIo   the file
  //   kUnavailable      ranks see different states of the database, or a node's
  //                     different files; one did not come; stag without
  //                     MPI_THREAD_MULTIPLE
  //   kLimit            the buffer is too small, or there is no memory for it;
  //                     no thread can be started
  [[nodiscard]] static Result<std::unique_ptr<LmdbReader>> create(
      MPI_Comm world, const std::string& path, const ReaderOptions& options);
  LmdbReader(const LmdbReader&) = delete;
  LmdbReader& operator=(const LmdbReader&) = delete;
  // Collective over the node's ranks, unless the run has failed: then shared
  // memory and communicators are left to the process's end.
  ~LmdbReader();

  // This rank's part of the next step; none after the last epoch. All ranks
  // get as many.
  // Errors: kIo           reading failed, or the file became shorter; names
  //                       file and offset
  //         kUnavailable  a rank of the node has died, or closed its reader;
  //                       another node did not pass its turn on; the database
  //                       was written meanwhile
  //         kLimit        a record does not fit (without dm)
  //   All ranks of the node get the error, those of other nodes with "on
  //   another node" before it. Nothing can be read after it.
  [[nodiscard]] Result<std::optional<RecordBatch>> next();
  // Gives the batch back before the next is asked for. Errors: kUnavailable  as
  // above: what the batch had may have been of another state
  [[nodiscard]] Status release();

  const ReaderFacts& facts() const;
  // Of this rank as a reader, so far.
  ReadCounts counts() const;

 private:
  class State;
  explicit LmdbReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::lmdb
