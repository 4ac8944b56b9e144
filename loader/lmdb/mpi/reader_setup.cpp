#include "loader/lmdb/mpi/reader_setup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <map>
#include <vector>

#include "common/checksum.h"
#include "common/clock.h"
#include "loader/data/storage_facts.h"
#include "loader/lmdb/mpi/coalesce.h"
#include "loader/lmdb/mpi/direct_file.h"
#include "loader/lmdb/mpi/index_setup.h"
#include "loader/lmdb/page_batch.h"

namespace penstock::lmdb {
namespace {

constexpr uint32_t kAlone_ms = 1000;  // not used up: there is no other rank

uint64_t hash_of(std::initializer_list<uint64_t> values) {
  std::string text;
  for (const uint64_t value : values) text += std::to_string(value) + ",";
  return checksum(text);
}

uint64_t hash_of(const ReaderOptions& o) {
  return hash_of({uint64_t{o.lmm}, uint64_t{o.dm}, uint64_t{o.dio},
                  uint64_t{o.prov}, uint64_t{o.coal}, uint64_t{o.stag},
                  static_cast<uint64_t>(o.direct), uint64_t{o.map_cached},
                  uint64_t{o.shuffle}, o.seed, o.epochs,
                  uint64_t{o.batch_records}, o.buffer_bytes,
                  uint64_t{o.readers_per_node}, uint64_t{o.stagger_width},
                  uint64_t{o.peer_timeout_ms}, uint64_t{o.ranks_per_buffer}});
}

bool is_reading(ReaderParts& parts) {
  return parts.world->node().rank() <
         static_cast<int>(parts.options.readers_per_node);
}

// Each rank's message about itself and its file.
struct Arrival {
  uint64_t state_hash = 0;  // must be equal on all ranks
  uint64_t file_hash = 0;   // must be equal on a node's ranks
  uint64_t leader = 0;
  PeerProcess process;
};

Error differs(Code code, const char* what, size_t rank, size_t other) {
  return Error{code, 0,
               std::string(what) + " of rank " + std::to_string(rank) +
                   " are not those of rank " + std::to_string(other)};
}

Status compare(const std::vector<Arrival>& ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].state_hash != ranks[0].state_hash) {
      return differs(Code::kUnavailable, "the database's state and size", rank,
                     0);
    }
    const uint64_t leader = ranks[rank].leader;
    if (ranks[rank].file_hash != ranks[leader].file_hash) {
      return differs(Code::kUnavailable, "the file's inode and time of change",
                     rank, leader);
    }
  }
  return Done{};
}

// The root page distinguishes diverged copies, whose meta pages may be equal.
Result<uint64_t> hash_root(int fd, const Meta& meta) {
  std::string page(meta.main.root == kNoPage ? 0 : meta.page_bytes, '\0');
  const PageRange range{meta.main.root * meta.page_bytes,
                        {reinterpret_cast<uint8_t*>(page.data()), page.size()}};
  Status read = PageBatch(ReadWith::kPread).read(fd, {&range, 1});
  if (!read) return std::move(read).error();
  return checksum(page);
}

// Computes the hashes. All ranks must have the same state. Ranks of a node must
// have the same file, because positions that one finds are used in the others'
// mappings. The device is not compared: each rank may mount its own image.
Status identify(const ReaderParts& parts, Arrival& me) {
  const Snapshot& snapshot = parts.snapshot;
  const Meta& meta = snapshot.meta;
  Result<uint64_t> root = hash_root(parts.file.fd.get(), meta);
  if (!root) return std::move(root).error();
  struct stat status {};
  if (::fstat(parts.file.fd.get(), &status) != 0) {
    return system_error(errno, "cannot look");
  }
  me.state_hash =
      hash_of({meta.txnid, meta.last_page, meta.main.records, meta.main.root,
               uint64_t{meta.main.depth}, snapshot.file_bytes, *root});
  me.file_hash =
      hash_of({status.st_ino, static_cast<uint64_t>(snapshot.mtime_s),
               uint64_t{snapshot.mtime_ns}});
  return Done{};
}

// Not in open_index(): there the other readers would wait for a failing rank.
Status open_database(ReaderParts& parts) {
  if (!is_reading(parts) || !parts.options.dm) return Done{};
  UniqueFd fd(::fcntl(parts.file.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return system_error(errno, parts.file.path);
  parts.database.emplace(Database::without_index(
      {parts.file.path, std::move(fd)}, parts.snapshot));
  return Done{};
}

Status open_file(const std::string& path, ReaderParts& parts, Arrival& me) {
  Result<DataFile> file = open_data_file(path);
  if (!file) return std::move(file).error();
  parts.file = *std::move(file);
  Result<Snapshot> snapshot = take_snapshot(parts.file.fd.get());
  if (!snapshot) return std::move(snapshot).error().wrap(parts.file.path);
  parts.snapshot = *snapshot;
  Status identified = identify(parts, me);
  if (!identified) return std::move(identified).error().wrap(parts.file.path);
  return open_database(parts);
}

Status open_index(ReaderParts& parts) {
  const uint64_t begin_ns = monotonic_ns();
  Result<IndexOrigin> origin =
      find_index(parts.readers, *parts.database, parts.options.prov);
  if (!origin) return std::move(origin).error();
  parts.facts.index_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  parts.facts.is_from_sidecar = origin->is_sidecar;
  parts.facts.sidecar_refusal = origin->refusal;
  return Done{};
}

// O_DIRECT needs whole blocks, including the file's last one.
bool has_whole_blocks(const Snapshot& snapshot) {
  constexpr uint64_t kBlock = RingShape::kDataAlignment;
  return snapshot.file_bytes % kBlock == 0 &&
         snapshot.meta.page_bytes % kBlock == 0;
}

// A file that fits into the page cache is read through it: later epochs then
// come from there.
bool wants_direct(const ReaderParts& parts) {
  if (!parts.options.dio || parts.options.direct == DirectReads::kOff) {
    return false;
  }
  return parts.options.direct == DirectReads::kOn || !parts.fits_cache;
}

Status open_past_cache(ReaderParts& parts) {
  if (!wants_direct(parts)) return Done{};
  const bool is_asked_for = parts.options.direct == DirectReads::kOn;
  if (has_whole_blocks(parts.snapshot)) {
    Result<UniqueFd> direct = open_direct(parts.file.fd.get());
    if (!direct && is_asked_for) {
      return std::move(direct).error().wrap(parts.file.path);
    }
    if (direct) parts.direct_fd = *std::move(direct);
    parts.facts.is_direct = static_cast<bool>(parts.direct_fd);
    return Done{};
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

// Makes the readers' communicator; a single reader needs no split.
Status gather_readers(const std::vector<Arrival>& ranks, ReaderParts& parts) {
  std::map<uint64_t, uint32_t> of_nodes;
  uint64_t readers = 0;
  for (const Arrival& rank : ranks) {
    const bool reads = of_nodes[rank.leader]++ < parts.options.readers_per_node;
    readers += reads ? 1 : 0;
  }
  PatientComm& all = parts.world->all();
  const int colour = is_reading(parts) ? 0 : MPI_UNDEFINED;
  Result<PatientComm> found = readers > 1 ? all.split(colour, all.rank())
                                          : PatientComm::alone(kAlone_ms);
  if (!found) return std::move(found).error();
  parts.readers = *std::move(found);
  return Done{};
}

}  // namespace

Status open_places(ReaderParts& parts) {
  parts.facts.is_reading = is_reading(parts);
  if (!parts.facts.is_reading) return map_file(parts);
  if (parts.options.dm) {
    if (Status ok = open_index(parts); !ok) return ok;
  }
  // Computed once: free memory changes, and direct reading and mapping must
  // decide alike.
  parts.fits_cache = static_cast<double>(parts.snapshot.file_bytes) <=
                     0.75 * cache_room_bytes();
  if (Status ok = open_past_cache(parts); !ok) return ok;
  return map_file(parts);
}

Status set_up_world(MPI_Comm comm, ReaderParts& parts) {
  const ReaderOptions& options = parts.options;
  Result<ReaderWorld> world = ReaderWorld::make(
      comm, std::clamp<uint32_t>(options.peer_timeout_ms, 100, 86400000));
  if (!world) return std::move(world).error();
  parts.world.emplace(*std::move(world));
  const Result<std::vector<uint64_t>> hashes =
      parts.world->all().share(check_options(options), hash_of(options));
  if (!hashes) return hashes.error();
  for (size_t rank = 0; rank < hashes->size(); ++rank) {
    if ((*hashes)[rank] == (*hashes)[0]) continue;
    return differs(Code::kInvalidArgument, "options", rank, 0);
  }
  return parts.world->find_node(options.ranks_per_buffer);
}

Status set_up_file(const std::string& path, ReaderParts& parts) {
  ReaderWorld& world = *parts.world;
  const auto pid = static_cast<uint64_t>(::getpid());
  Arrival me;
  me.leader = world.leader();
  me.process = process_of(pid).value_or(PeerProcess{pid, 0});
  const Status opened = open_file(path, parts, me);
  const Result<std::vector<Arrival>> ranks = world.all().share(opened, me);
  if (!ranks) return ranks.error();
  if (Status same = compare(*ranks); !same) {
    return std::move(same).error().wrap(parts.file.path);
  }
  std::vector<uint64_t> leaders;
  for (const Arrival& rank : *ranks) leaders.push_back(rank.leader);
  world.place_nodes(leaders);
  for (const uint64_t rank : world.members()) {
    parts.peers.push_back((*ranks)[rank].process);
  }
  if (parts.options.stag && world.nodes() > 1 && !world.has_threads()) {
    return Error{Code::kUnavailable, 0,
                 "stag needs MPI_THREAD_MULTIPLE (MPI_Init_thread)"};
  }
  const Meta& meta = parts.snapshot.meta;
  parts.plan.node = world.ranks();
  parts.plan.batches = {meta.main.records,
                        static_cast<uint32_t>(world.all().size()),
                        parts.options.batch_records, 1};
  parts.plan.shuffle = parts.options.shuffle;
  parts.plan.order =
      EpochOrder(std::max<uint64_t>(1, meta.main.records), parts.options.seed);
  return gather_readers(*ranks, parts);
}

}  // namespace penstock::lmdb
