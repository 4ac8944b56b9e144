#include "loader/lmdb/mpi/reader_setup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "common/clock.h"
#include "loader/lmdb/checksum.h"
#include "loader/lmdb/mpi/coalesce.h"
#include "loader/lmdb/mpi/direct_file.h"
#include "loader/lmdb/mpi/index_setup.h"
#include "loader/lmdb/page_batch.h"
#include "loader/storage_facts.h"

namespace penstock::lmdb {
namespace {

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

// Whether all ranks have the same value. first: the number of ranks' first.
Status compare(PatientComm& ranks, uint64_t mine, Code code, const char* what,
               uint32_t first = 0) {
  Result<std::vector<uint64_t>> values = ranks.gather(mine);
  if (!values) return std::move(values).error();
  for (size_t rank = 0; rank < values->size(); ++rank) {
    if ((*values)[rank] != (*values)[0]) {
      return Error{code, 0,
                   std::string(what) + " of rank " +
                       std::to_string(first + rank) +
                       " are not those of rank " + std::to_string(first)};
    }
  }
  return Done{};
}

// A copy that was changed elsewhere may have the same numbers in its meta page.
Result<uint64_t> hash_root(int fd, const Meta& meta) {
  std::string page(meta.main.root == kNoPage ? 0 : meta.page_bytes, '\0');
  const PageRange range{meta.main.root * meta.page_bytes,
                        {reinterpret_cast<uint8_t*>(page.data()), page.size()}};
  Status read = PageBatch(ReadWith::kPread).read(fd, {&range, 1});
  if (!read) return std::move(read).error();
  return checksum(page);
}

// What ranks compare: all of them of the state, those of a node of the file,
// as what one finds is read in the mappings of the others. Not the device: each
// rank may have mounted an image of its own.
Status identify(ReaderParts& parts) {
  const Snapshot& snapshot = parts.snapshot;
  const Meta& meta = snapshot.meta;
  Result<uint64_t> root = hash_root(parts.file.fd.get(), meta);
  if (!root) return std::move(root).error();
  struct stat status {};
  if (::fstat(parts.file.fd.get(), &status) != 0) {
    return system_error(errno, "cannot look");
  }
  parts.state_hash =
      hash_of({meta.txnid, meta.last_page, meta.main.records, meta.main.root,
               uint64_t{meta.main.depth}, snapshot.file_bytes, *root});
  parts.file_hash =
      hash_of({status.st_ino, static_cast<uint64_t>(snapshot.mtime_s),
               uint64_t{snapshot.mtime_ns}});
  return Done{};
}

Status open_file(const std::string& path, ReaderParts& parts) {
  Result<DataFile> file = open_data_file(path);
  if (!file) return std::move(file).error();
  parts.file = *std::move(file);
  Result<Snapshot> snapshot = take_snapshot(parts.file.fd.get());
  if (!snapshot) return std::move(snapshot).error().wrap(parts.file.path);
  parts.snapshot = *snapshot;
  Status identified = identify(parts);
  if (!identified) return std::move(identified).error().wrap(parts.file.path);
  return identified;
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

// Through the page cache where it can hold the file: the next epoch comes from
// there.
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

Status open_places(ReaderParts& parts) {
  parts.facts.is_reading = is_reading(parts);
  if (!parts.facts.is_reading) return map_file(parts);
  if (parts.options.dm) {
    if (Status ok = open_index(parts); !ok) return ok;
  }
  // Once: what is left changes, and both who reads directly and who maps ask.
  parts.fits_cache = static_cast<double>(parts.snapshot.file_bytes) <=
                     0.75 * cache_room_bytes();
  if (Status ok = open_past_cache(parts); !ok) return ok;
  return map_file(parts);
}

}  // namespace

Status set_up_world(MPI_Comm comm, ReaderParts& parts) {
  const ReaderOptions& options = parts.options;
  Result<ReaderWorld> world = ReaderWorld::make(
      comm, std::clamp<uint32_t>(options.peer_timeout_ms, 100, 86400000));
  if (!world) return std::move(world).error();
  parts.world.emplace(*std::move(world));
  PatientComm& all = parts.world->all();
  if (Status ok = all.agree(check_options(options)); !ok) return ok;
  if (Status same =
          compare(all, hash_of(options), Code::kInvalidArgument, "options");
      !same) {
    return same;
  }
  if (Status ok = parts.world->find_nodes(options.ranks_per_buffer); !ok) {
    return ok;
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
  Status same = compare(all, parts.state_hash, Code::kUnavailable,
                        "the database's state and size");
  if (same) {
    same = all.agree(compare(
        parts.world->node(), parts.file_hash, Code::kUnavailable,
        "the file's inode and time of change", parts.world->ranks().first));
  }
  if (!same) return std::move(same).error().wrap(parts.file.path);
  if (Status ok = all.agree(open_places(parts)); !ok) return ok;
  parts.plan.node = parts.world->ranks();
  parts.plan.batches = {meta.main.records, static_cast<uint32_t>(all.size()),
                        parts.options.batch_records, 1};
  parts.plan.shuffle = parts.options.shuffle;
  parts.plan.order =
      EpochOrder(std::max<uint64_t>(1, meta.main.records), parts.options.seed);
  return Done{};
}

}  // namespace penstock::lmdb
