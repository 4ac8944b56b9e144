#include "loader/lmdb/mpi/index_setup.h"

#include <cstring>
#include <type_traits>
#include <vector>

#include "common/clock.h"
#include "loader/lmdb/page_source.h"
#include "loader/lmdb/tree_walk.h"

namespace penstock::lmdb {
namespace {

static_assert(std::is_trivially_copyable_v<RecordSpan>);

// The records of the part's leaf pages, as bytes for MPI.
Result<std::string> walk_part(int fd, const Snapshot& snapshot, uint64_t part,
                              uint64_t parts) {
  FilePages pages(fd, PageBatch());
  Result<std::vector<uint64_t>> leaves = find_leaves(pages, snapshot);
  if (!leaves) return std::move(leaves).error();
  const uint64_t first = leaves->size() * part / parts;
  const uint64_t last = leaves->size() * (part + 1) / parts;
  std::string spans;
  Status walked = walk_leaves(
      pages, snapshot, std::span(*leaves).subspan(first, last - first),
      [&](const Record& record) {
        spans.append(reinterpret_cast<const char*>(&record.value),
                     sizeof record.value);
      });
  if (Status intact = check_intact(fd, snapshot); !intact) {
    return std::move(intact).error();
  }
  if (!walked) return std::move(walked).error();
  return spans;
}

Result<RecordIndex> index_of(const std::string& spans,
                             const Snapshot& snapshot) {
  const uint64_t records = spans.size() / sizeof(RecordSpan);
  if (records != snapshot.meta.main.records) {
    return Error{Code::kIo, 0,
                 "it is damaged: its tree has " + std::to_string(records) +
                     " records, not the " +
                     std::to_string(snapshot.meta.main.records) +
                     " that its meta page says"};
  }
  RecordIndexBuilder builder;
  for (uint64_t i = 0; i < records; ++i) {
    RecordSpan span;
    std::memcpy(&span, spans.data() + i * sizeof span, sizeof span);
    builder.add(span);
  }
  return builder.finish();
}

Result<RecordIndex> walk_together(PatientComm& readers,
                                  const Database& database) {
  const Snapshot& snapshot = database.snapshot();
  Result<std::string> mine =
      walk_part(database.fd(), snapshot, static_cast<uint64_t>(readers.rank()),
                static_cast<uint64_t>(readers.size()));
  Status walked = Done{};
  if (!mine) walked = mine.error();
  if (Status all = readers.agree(walked); !all) return std::move(all).error();
  Result<std::string> spans = readers.gather_bytes(*mine);
  if (!spans) return std::move(spans).error();
  return index_of(*spans, snapshot);
}

}  // namespace

Result<IndexOrigin> find_index(PatientComm& readers, Database& database,
                               bool wants_sidecar) {
  IndexOrigin origin;
  if (wants_sidecar) {
    DatabaseOptions options;
    options.seed = monotonic_ns();
    const Status all = readers.agree(database.read_sidecar(options));
    origin.is_sidecar = all.ok();
    if (all) return origin;
    origin.refusal = all.error().message;
  }
  Result<RecordIndex> index = walk_together(readers, database);
  if (!index) return std::move(index).error().wrap(database.path());
  database.set_index(*std::move(index));
  return origin;
}

}  // namespace penstock::lmdb
