#include "loader/lmdb/mpi/reader_setup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "loader/lmdb/checksum.h"
#include "loader/lmdb/mpi/coalesce.h"
#include "loader/lmdb/mpi/index_setup.h"
#include "loader/storage_facts.h"

namespace penstock::lmdb {
namespace {

constexpr uint64_t kMostDefaultBuffer_bytes = uint64_t{256} << 20;

std::string text_of(const ReaderOptions& o) {
  std::string text;
  for (const uint64_t value :
       {uint64_t{o.lmm}, uint64_t{o.dm}, uint64_t{o.dio}, uint64_t{o.prov},
        uint64_t{o.coal}, uint64_t{o.stag}, static_cast<uint64_t>(o.direct),
        uint64_t{o.map_cached}, uint64_t{o.shuffle}, o.seed, o.epochs,
        uint64_t{o.batch_records}, o.buffer_bytes, uint64_t{o.readers_per_node},
        uint64_t{o.stagger_width}, uint64_t{o.peer_timeout_ms},
        uint64_t{o.ranks_per_buffer}}) {
    text += std::to_string(value) + ",";
  }
  return text;
}

bool is_reading(ReaderParts& parts) {
  return parts.world->node().rank() <
         static_cast<int>(parts.options.readers_per_node);
}

// Whether all ranks have the same value.
Status compare(PatientComm& all, uint64_t mine, Code code, const char* what) {
  Result<std::vector<uint64_t>> values = all.gather(mine);
  if (!values) return std::move(values).error();
  for (size_t rank = 0; rank < values->size(); ++rank) {
    if ((*values)[rank] != (*values)[0]) {
      return Error{code, 0,
                   std::string(what) + " of rank " + std::to_string(rank) +
                       " are not those of rank 0"};
    }
  }
  return Done{};
}

Status open_file(const std::string& path, ReaderParts& parts) {
  Result<DataFile> file = open_data_file(path);
  if (!file) return std::move(file).error();
  parts.file = *std::move(file);
  Result<Snapshot> snapshot = take_snapshot(parts.file.fd.get());
  if (!snapshot) return std::move(snapshot).error().wrap(parts.file.path);
  parts.snapshot = *snapshot;
  return Done{};
}

Status open_index(ReaderParts& parts) {
  const uint64_t begin_ns = monotonic_ns();
  UniqueFd fd(::fcntl(parts.file.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return system_error(errno, parts.file.path);
  parts.database.emplace(Database::without_index(
      {parts.file.path, std::move(fd)}, parts.snapshot));
  Result<IndexOrigin> origin =
      find_index(parts.readers, *parts.database, parts.options.prov);
  if (!origin) return std::move(origin).error();
  parts.facts.index_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  parts.facts.is_from_sidecar = origin->is_sidecar;
  parts.facts.sidecar_refusal = origin->refusal;
  return Done{};
}

// O_DIRECT needs whole blocks, also at the file's end.
bool has_whole_blocks(const Snapshot& snapshot) {
  constexpr uint64_t kBlock = RingShape::kDataAlignment;
  return snapshot.file_bytes % kBlock == 0 &&
         snapshot.meta.page_bytes % kBlock == 0;
}

bool fits_cache(const ReaderParts& parts) {
  return static_cast<double>(parts.snapshot.file_bytes) <=
         0.75 * cache_room_bytes();
}

// Through the page cache where it can hold the file: the next epoch comes from
// there.
bool wants_direct(const ReaderParts& parts) {
  if (!parts.options.dio || parts.options.direct == DirectReads::kOff) {
    return false;
  }
  return parts.options.direct == DirectReads::kOn || !fits_cache(parts);
}

Status open_direct(ReaderParts& parts) {
  if (!wants_direct(parts)) return Done{};
  const bool is_asked_for = parts.options.direct == DirectReads::kOn;
  if (has_whole_blocks(parts.snapshot)) {
    parts.direct_fd.reset(
        ::open(parts.file.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
    parts.facts.is_direct = static_cast<bool>(parts.direct_fd);
    if (parts.direct_fd || !is_asked_for) return Done{};
    return invalid(parts.file.path +
                   ": the file system refuses O_DIRECT; use direct=auto");
  }
  if (!is_asked_for) return Done{};
  return invalid(parts.file.path + ": its pages of " +
                 std::to_string(parts.snapshot.meta.page_bytes) +
                 " bytes are too small for O_DIRECT; use direct=auto");
}

Status map_file(ReaderParts& parts) {
  Result<MappedFile> map =
      MappedFile::map(parts.file.fd.get(), parts.snapshot.file_bytes);
  if (!map) return std::move(map).error().wrap(parts.file.path);
  parts.map.emplace(*std::move(map));
  return Done{};
}

Status open_places(ReaderParts& parts) {
  parts.facts.is_reading = is_reading(parts);
  if (!parts.facts.is_reading) return map_file(parts);
  if (parts.options.dm) {
    if (Status ok = open_index(parts); !ok) return ok;
  }
  if (Status ok = open_direct(parts); !ok) return ok;
  return map_file(parts);
}

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
          : std::min(kMostDefaultBuffer_bytes,
                     static_cast<uint64_t>(cache_room_bytes() / 4));
  const uint32_t readers =
      std::min(options.readers_per_node, parts.plan.node.count);
  return shape_buffer({parts.plan.node.count, options.batch_records,
                       readers * reading_threads(options),
                       std::max<uint64_t>(1, parts.plan.batches.steps()),
                       options.coal ? 16 * kGapBytes : 0, limit},
                      bound_of(parts));
}

}  // namespace

Status set_up_world(MPI_Comm comm, ReaderParts& parts) {
  const ReaderOptions& options = parts.options;
  Result<ReaderWorld> world = ReaderWorld::make(
      comm, options.ranks_per_buffer,
      std::clamp<uint32_t>(options.peer_timeout_ms, 100, 86400000));
  if (!world) return std::move(world).error();
  parts.world.emplace(*std::move(world));
  PatientComm& all = parts.world->all();
  if (Status ok = all.agree(check_options(options)); !ok) return ok;
  if (Status same = compare(all, checksum(text_of(options)),
                            Code::kInvalidArgument, "options");
      !same) {
    return same;
  }
  if (options.stag && parts.world->nodes() > 1 && !parts.world->has_threads()) {
    return Error{Code::kUnavailable, 0,
                 "stag needs MPI_THREAD_MULTIPLE (MPI_Init_thread)"};
  }
  Result<PatientComm> readers =
      all.split(is_reading(parts) ? 0 : MPI_UNDEFINED, all.rank());
  if (!readers) return std::move(readers).error();
  parts.readers = *std::move(readers);
  return Done{};
}

Status set_up_file(const std::string& path, ReaderParts& parts) {
  PatientComm& all = parts.world->all();
  if (Status ok = all.agree(open_file(path, parts)); !ok) return ok;
  const Meta& meta = parts.snapshot.meta;
  const std::string state = std::to_string(meta.txnid) + "," +
                            std::to_string(meta.main.records) + "," +
                            std::to_string(meta.main.root) + "," +
                            std::to_string(parts.snapshot.file_bytes);
  if (Status same = compare(all, checksum(state), Code::kUnavailable,
                            "the database's state and size");
      !same) {
    return std::move(same).error().wrap(parts.file.path);
  }
  if (Status ok = all.agree(open_places(parts)); !ok) return ok;
  parts.plan.node = parts.world->ranks();
  parts.plan.batches = {meta.main.records, static_cast<uint32_t>(all.size()),
                        parts.options.batch_records, 1};
  parts.plan.shuffle = parts.options.shuffle;
  parts.plan.order =
      EpochOrder(std::max<uint64_t>(1, meta.main.records), parts.options.seed);
  return Done{};
}

Status set_up_buffer(ReaderParts& parts) {
  PatientComm& node = parts.world->node();
  Result<BufferShape> shape = BufferShape{};
  if (parts.world->is_leader()) shape = node_shape(parts);
  Status mine = Done{};
  if (!shape) mine = std::move(shape).error();
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
    auto source = make_cursor_source(parts.file.path, parts.plan);
    if (!source) return std::move(source).error();
    sources.push_back(*std::move(source));
    return sources;
  }
  const IndexReading reading{parts.direct_fd.get(),
                             !parts.direct_fd && fits_cache(parts)};
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
  const uint64_t chunks = parts.plan.batches.chunks();
  duties.chunks.end = options.epochs > 0 ? options.epochs * chunks
                      : chunks > 0       ? UINT64_MAX - 4096
                                         : 0;
  if (options.stag) {
    const uint32_t nodes = parts.world->nodes();
    duties.tokens = {nodes, std::min(options.stagger_width, nodes),
                     duties.chunks.end};
  }
  duties.is_listening = parts.world->is_leader() && thread == 0;
  duties.token_timeout_ms = options.peer_timeout_ms;
  return duties;
}

}  // namespace

Status set_up_threads(ReaderParts& parts) {
  Result<std::vector<PeerProcess>> peers = gather_peers(parts.world->node());
  if (!peers) return std::move(peers).error();
  parts.share.emplace(
      *parts.world, NodeRing(parts.window->memory(), parts.shape.ring), *peers);
  auto sources = make_sources(parts);
  Status mine = Done{};
  if (!sources) mine = std::move(sources).error();
  if (Status ok = parts.world->all().agree(mine); !ok) return ok;
  for (uint32_t i = 0; i < sources->size(); ++i) {
    parts.threads.push_back(std::make_unique<ReadingThread>(
        *parts.share, parts.plan, std::move((*sources)[i]),
        duties_of(parts, i)));
  }
  return Done{};
}

}  // namespace penstock::lmdb
