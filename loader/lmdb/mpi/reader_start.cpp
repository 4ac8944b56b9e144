#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>

#include "loader/data/storage_facts.h"
#include "loader/lmdb/mpi/reader_setup.h"

namespace penstock::lmdb {
namespace {

RecordBound bound_of(const ReaderParts& parts) {
  const uint64_t records =
      std::max<uint64_t>(1, parts.snapshot.meta.main.records);
  // An upper bound of the mean: the file has more than records.
  const uint64_t mean_bytes = parts.snapshot.file_bytes / records + 1;
  // Unknown sizes: larger records fail when they are read.
  if (!parts.database) return RecordBound(2 * mean_bytes + 4096);
  const RecordIndex& index = parts.database->index();
  std::vector<uint32_t> sizes(index.size());
  for (uint64_t i = 0; i < index.size(); ++i) sizes[i] = index.at(i).bytes;
  const uint64_t step_records =
      uint64_t{parts.plan.node.count} * parts.options.batch_records;
  return RecordBound(std::move(sizes),
                     parts.direct_fd ? RingShape::kDataAlignment : 1,
                     step_records + 2 * kChunkBytes / mean_bytes);
}

uint32_t reading_threads(const ReaderOptions& options) {
  // A second thread starts the next chunk while the first waits for its last
  // request. A cursor or a turn allows one thread only.
  return options.dm && !options.stag ? 2 : 1;
}

// Only if the page cache can hold the file: otherwise chunks listed ahead may
// be evicted before their use. Not with stag: a node that has its turn must not
// wait for trainers.
bool lists_ahead(const ReaderParts& parts) {
  return parts.options.map_cached && parts.options.dm && parts.fits_cache &&
         !parts.direct_fd && !parts.options.stag;
}

Result<BufferShape> node_shape(ReaderParts& parts) {
  const ReaderOptions& options = parts.options;
  const uint64_t limit =
      options.buffer_bytes > 0
          ? options.buffer_bytes
          : default_buffer_bytes(cache_room_bytes(), parts.world->buffers());
  const uint32_t readers =
      std::min(options.readers_per_node, parts.plan.node.count);
  return shape_buffer(
      {parts.plan.node.count, options.batch_records,
       readers * reading_threads(options),
       std::max<uint64_t>(1, parts.plan.batches.steps()),
       options.coal ? 16 * kGapBytes : 0, limit, lists_ahead(parts)},
      bound_of(parts));
}

// A rank's findings, shared with all ranks.
struct Offer {
  BufferShape shape;        // from a node's first rank
  bool fits_cache = false;  // likewise
  bool is_direct = false;   // from a reading rank
};

Status look_for_places(ReaderParts& parts, Offer& offer) {
  if (Status ok = open_places(parts); !ok) return ok;
  offer.is_direct = parts.facts.is_direct;
  if (!parts.world->is_leader()) return Done{};
  Result<BufferShape> shape = node_shape(parts);
  if (!shape) return std::move(shape).error();
  offer.shape = *shape;
  offer.fits_cache = parts.fits_cache;
  return NodeWindow::check_room(shape->ring.window_bytes());
}

// Whether all of a node's readers chose direct reads. They may differ, as they
// checked at different times. Direct reads need padding, which the first
// reader's shape may not include.
bool reads_past_cache(const std::vector<Offer>& offers,
                      const ReaderParts& parts) {
  const std::vector<uint64_t>& ranks = parts.world->members();
  const auto readers = static_cast<ptrdiff_t>(
      std::min<size_t>(parts.options.readers_per_node, ranks.size()));
  return std::all_of(ranks.begin(), ranks.begin() + readers,
                     [&](uint64_t rank) { return offers[rank].is_direct; });
}

void take(const std::vector<Offer>& offers, ReaderParts& parts) {
  const Offer& ours = offers[parts.world->leader()];
  parts.shape = ours.shape;
  parts.fits_cache = ours.fits_cache;
  if (!reads_past_cache(offers, parts)) {
    parts.direct_fd.reset();
    parts.facts.is_direct = false;
  }
  // Nodes take turns by chunks, so all nodes use the same chunk size.
  uint32_t steps = ours.shape.chunk_steps;
  for (const uint64_t leader : parts.world->leaders()) {
    steps = std::min(steps, offers[leader].shape.chunk_steps);
  }
  parts.plan.batches.chunk_steps = steps;
  parts.facts.records = parts.plan.batches.records;
  parts.facts.steps = parts.plan.batches.steps();
  parts.facts.buffer_bytes = parts.shape.ring.window_bytes();
  parts.facts.chunk_steps = steps;
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
  if (!parts.direct_fd && parts.fits_cache) {
    parts.cached.emplace(parts.map->bytes());
  }
  const IndexReading reading{parts.direct_fd.get(),
                             parts.cached ? &*parts.cached : nullptr};
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
          *parts.share, parts.plan, *parts.pacer, std::move(sources[i]),
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

Status prepare(ReaderParts& parts) {
  const RingShape& ring = parts.shape.ring;
  Result<NodeWindow> window = NodeWindow::allocate(
      parts.world->node(), ring.window_bytes(), ring.bookkeeping_bytes());
  if (!window) return std::move(window).error();
  parts.window.emplace(*std::move(window));
  parts.share.emplace(*parts.world, NodeRing(parts.window->memory(), ring),
                      parts.peers);
  const uint32_t ranks = parts.plan.node.count;
  parts.pacer.emplace(parts.link,
                      static_cast<double>(ranks) /
                          std::min(parts.options.readers_per_node, ranks));
  auto sources = make_sources(parts);
  if (!sources) return std::move(sources).error();
  return start_threads(parts, *std::move(sources));
}

}  // namespace

uint64_t default_buffer_bytes(double room_bytes, uint32_t buffers) {
  constexpr uint64_t kMost_bytes = uint64_t{256} << 20;
  return std::min(kMost_bytes, static_cast<uint64_t>(room_bytes / 4 / buffers));
}

Status set_up_reading(ReaderParts& parts) {
  Offer mine;
  const Status found = look_for_places(parts, mine);
  const Result<std::vector<Offer>> offers =
      parts.world->all().share(found, mine);
  if (!offers) return offers.error();
  take(*offers, parts);
  Status all = parts.world->all().agree(prepare(parts));
  if (!all) {
    parts.threads.clear();
    parts.share.reset();
    // Freeing would wait for all ranks, and some may have no window.
    if (parts.window) parts.window->abandon();
    return all;
  }
  for (const auto& thread : parts.threads) thread->begin();
  return Done{};
}

}  // namespace penstock::lmdb
