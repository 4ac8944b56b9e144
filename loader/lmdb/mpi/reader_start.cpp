#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>

#include "loader/lmdb/mpi/reader_setup.h"
#include "loader/storage_facts.h"

namespace penstock::lmdb {
namespace {

RecordBound bound_of(const ReaderParts& parts) {
  if (!parts.database) {
    // Twice the mean, and a page; what is larger is an error when it comes.
    const uint64_t records =
        std::max<uint64_t>(1, parts.snapshot.meta.main.records);
    return RecordBound(2 * parts.snapshot.file_bytes / records + 4096);
  }
  const RecordIndex& index = parts.database->index();
  std::vector<uint32_t> sizes(index.size());
  for (uint64_t i = 0; i < index.size(); ++i) sizes[i] = index.at(i).bytes;
  return RecordBound(std::move(sizes),
                     parts.direct_fd ? RingShape::kDataAlignment : 1);
}

uint32_t reading_threads(const ReaderOptions& options) {
  // A second thread reads the next chunk while the first sees to its last
  // request. A cursor is one; a turn is for one.
  return options.dm && !options.stag ? 2 : 1;
}

Result<BufferShape> node_shape(ReaderParts& parts) {
  const ReaderOptions& options = parts.options;
  const uint64_t limit =
      options.buffer_bytes > 0
          ? options.buffer_bytes
          : default_buffer_bytes(cache_room_bytes(), parts.world->buffers());
  const uint32_t readers =
      std::min(options.readers_per_node, parts.plan.node.count);
  return shape_buffer({parts.plan.node.count, options.batch_records,
                       readers * reading_threads(options),
                       std::max<uint64_t>(1, parts.plan.batches.steps()),
                       options.coal ? 16 * kGapBytes : 0, limit},
                      bound_of(parts));
}

}  // namespace

uint64_t default_buffer_bytes(double room_bytes, uint32_t buffers) {
  constexpr uint64_t kMost_bytes = uint64_t{256} << 20;
  return std::min(kMost_bytes, static_cast<uint64_t>(room_bytes / 4 / buffers));
}

Status set_up_buffer(ReaderParts& parts) {
  PatientComm& node = parts.world->node();
  Result<BufferShape> shape = BufferShape{};
  if (parts.world->is_leader()) shape = node_shape(parts);
  Status mine = Done{};
  if (!shape) mine = shape.error();
  if (Status ok = parts.world->all().agree(mine); !ok) return ok;
  parts.shape = *shape;
  if (Status ok = node.broadcast(&parts.shape, sizeof parts.shape, 0); !ok) {
    return ok;
  }
  // Nodes take turns by chunks: all have the same.
  Result<std::vector<uint64_t>> steps =
      parts.world->all().gather(parts.shape.chunk_steps);
  if (!steps) return std::move(steps).error();
  parts.plan.batches.chunk_steps =
      static_cast<uint32_t>(*std::min_element(steps->begin(), steps->end()));
  const uint64_t bytes = parts.shape.ring.window_bytes();
  Result<NodeWindow> window =
      NodeWindow::allocate(node, bytes, parts.shape.ring.bookkeeping_bytes());
  Status given = Done{};
  if (window) {
    parts.window.emplace(*std::move(window));
  } else {
    given = std::move(window).error();
  }
  if (Status ok = parts.world->all().agree(given); !ok) return ok;
  parts.facts.records = parts.plan.batches.records;
  parts.facts.steps = parts.plan.batches.steps();
  parts.facts.buffer_bytes = bytes;
  parts.facts.chunk_steps = parts.plan.batches.chunk_steps;
  return Done{};
}

namespace {

Result<std::vector<PeerProcess>> gather_peers(PatientComm& node) {
  const auto pid = static_cast<uint64_t>(::getpid());
  const PeerProcess me = process_of(pid).value_or(PeerProcess{pid, 0});
  Result<std::vector<uint64_t>> pids = node.gather(me.pid);
  Result<std::vector<uint64_t>> starts = node.gather(me.start_ticks);
  if (!pids) return std::move(pids).error();
  if (!starts) return std::move(starts).error();
  std::vector<PeerProcess> peers;
  for (size_t i = 0; i < pids->size(); ++i) {
    peers.push_back({(*pids)[i], (*starts)[i]});
  }
  return peers;
}

Result<std::vector<std::unique_ptr<ChunkSource>>> make_sources(
    ReaderParts& parts) {
  std::vector<std::unique_ptr<ChunkSource>> sources;
  if (!parts.facts.is_reading) return sources;
  if (!parts.options.dm) {
    auto source = make_cursor_source(parts.file, parts.snapshot, parts.plan);
    if (!source) return std::move(source).error();
    sources.push_back(*std::move(source));
    return sources;
  }
  const IndexReading reading{parts.direct_fd.get(),
                             !parts.direct_fd && parts.fits_cache};
  for (uint32_t i = 0; i < reading_threads(parts.options); ++i) {
    sources.push_back(make_index_source(*parts.database, *parts.map, parts.plan,
                                        parts.options, reading));
  }
  return sources;
}

ReadingThread::Duties duties_of(ReaderParts& parts, uint32_t thread) {
  const ReaderOptions& options = parts.options;
  const uint32_t readers =
      std::min(options.readers_per_node, parts.plan.node.count);
  const uint32_t threads = reading_threads(options);
  const auto me = static_cast<uint32_t>(parts.world->node().rank());
  ReadingThread::Duties duties;
  duties.chunks.first = uint64_t{thread} * readers + me;
  duties.chunks.stride = uint64_t{readers} * threads;
  duties.chunks.end = parts.plan.batches.chunks_of_run(options.epochs);
  if (options.stag) {
    const uint32_t nodes = parts.world->nodes();
    duties.tokens = {nodes, std::min(options.stagger_width, nodes),
                     duties.chunks.end};
  }
  duties.is_listening = parts.world->is_leader() && thread == 0;
  duties.token_timeout_ms = options.peer_timeout_ms;
  return duties;
}

Status start_threads(ReaderParts& parts,
                     std::vector<std::unique_ptr<ChunkSource>> sources) {
  try {
    for (uint32_t i = 0; i < sources.size(); ++i) {
      parts.threads.push_back(std::make_unique<ReadingThread>(
          *parts.share, parts.plan, std::move(sources[i]),
          duties_of(parts, i)));
    }
  } catch (const std::system_error& error) {
    return Error{Code::kLimit, error.code().value(),
                 std::string("cannot start a reading thread: ") +
                     std::strerror(error.code().value()) +
                     "; raise the job's limit of tasks (pids.max, ulimit -u)"};
  }
  return Done{};
}

}  // namespace

Status set_up_threads(ReaderParts& parts) {
  Result<std::vector<PeerProcess>> peers = gather_peers(parts.world->node());
  if (!peers) return std::move(peers).error();
  parts.share.emplace(
      *parts.world, NodeRing(parts.window->memory(), parts.shape.ring), *peers);
  auto sources = make_sources(parts);
  Status mine = Done{};
  if (!sources) mine = sources.error();
  if (Status ok = parts.world->all().agree(mine); !ok) return ok;
  return parts.world->all().agree(start_threads(parts, *std::move(sources)));
}

}  // namespace penstock::lmdb
