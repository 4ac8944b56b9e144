// The steps of LmdbReader::create(). Each is collective and returns the same
// error on all ranks, except open_places().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/mpi/buffer_shape.h"
#include "loader/lmdb/mpi/cached_blocks.h"
#include "loader/lmdb/mpi/lmdb_reader.h"
#include "loader/lmdb/mpi/mapped_file.h"
#include "loader/lmdb/mpi/node_share.h"
#include "loader/lmdb/mpi/node_window.h"
#include "loader/lmdb/mpi/reading_thread.h"

namespace penstock::lmdb {

// Members depend on earlier ones, so they are destroyed in reverse order.
struct ReaderParts {
  ReaderOptions options;
  std::optional<ReaderWorld> world;
  PatientComm readers;  // all nodes' reading ranks; null on other ranks
  DataFile file;
  Snapshot snapshot;
  std::vector<PeerProcess> peers;    // the node's ranks
  std::optional<Database> database;  // of a reading rank, with dm
  std::optional<MappedFile> map;
  bool fits_cache = false;  // the page cache could hold the file at set-up
  UniqueFd direct_fd;
  std::optional<CachedBlocks> cached;  // if the reading threads use it
  RunPlan plan;
  BufferShape shape;
  std::optional<NodeWindow> window;
  std::optional<NodeShare> share;
  PipelineLink link;
  std::optional<ReadPacer> pacer;
  std::vector<std::unique_ptr<ReadingThread>> threads;
  ReaderFacts facts;
};

// Default size limit of a buffer. room_bytes: the job's free memory; buffers:
// number of buffers on the machine.
uint64_t default_buffer_bytes(double room_bytes, uint32_t buffers);

// Errors: those of LmdbReader::create()
[[nodiscard]] Status set_up_world(MPI_Comm world, ReaderParts& parts);
[[nodiscard]] Status set_up_file(const std::string& path, ReaderParts& parts);
// Sets up the index (collective over the readers) and the mapping.
[[nodiscard]] Status open_places(ReaderParts& parts);
[[nodiscard]] Status set_up_reading(ReaderParts& parts);

}  // namespace penstock::lmdb
