// What LmdbReader::create() does, step by step. Each step is collective and
// gives all ranks the same error, but for open_places().
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

// Members in the order in which they need each other.
struct ReaderParts {
  ReaderOptions options;
  std::optional<ReaderWorld> world;
  PatientComm readers;  // all nodes' reading ranks; null on others
  DataFile file;
  Snapshot snapshot;
  std::vector<PeerProcess> peers;    // the node's ranks
  std::optional<Database> database;  // of a reading rank, with dm
  std::optional<MappedFile> map;
  bool fits_cache = false;  // the whole file, when the node's reader looked
  UniqueFd direct_fd;
  std::optional<CachedBlocks> cached;  // where the reading threads use it
  RunPlan plan;
  BufferShape shape;
  std::optional<NodeWindow> window;
  std::optional<NodeShare> share;
  PipelineLink link;
  std::optional<ReadPacer> pacer;
  std::vector<std::unique_ptr<ReadingThread>> threads;
  ReaderFacts facts;
};

// What a buffer may have if nobody says: of a machine that has so many.
uint64_t default_buffer_bytes(double room_bytes, uint32_t buffers);

// Errors: LmdbReader::create()'s
[[nodiscard]] Status set_up_world(MPI_Comm world, ReaderParts& parts);
[[nodiscard]] Status set_up_file(const std::string& path, ReaderParts& parts);
// Index and mapping: of this rank, or of the readers together.
[[nodiscard]] Status open_places(ReaderParts& parts);
[[nodiscard]] Status set_up_reading(ReaderParts& parts);

}  // namespace penstock::lmdb
