#include <cstring>

#include "loader/lmdb/library_reader.h"
#include "loader/lmdb/mpi/chunk_source.h"

namespace penstock::lmdb {
namespace {

class CursorSource : public ChunkSource {
 public:
  CursorSource(const DataFile& file, const Snapshot& snapshot,
               const RunPlan& plan)
      : file_(file), snapshot_(snapshot), plan_(plan) {}

  Status open() {
    return library_.open_at(file_.path, file_.fd.get(), snapshot_);
  }

  Result<bool> fill(const StepChunk& chunk, std::span<SlotEntry> entries,
                    const Room& room) override {
    Result<std::span<uint8_t>> data = room();
    if (!data) return std::move(data).error();
    Status copied = copy(chunk, entries, *data);
    // Without a slot in the lock file a writer may have reused the cursor's
    // pages; an error of the cursor is then not damage.
    if (Status intact = check_intact(file_.fd.get(), snapshot_); !intact) {
      return std::move(intact).error().wrap(file_.path);
    }
    if (!copied) return std::move(copied).error();
    ++counts_.read_chunks;
    return false;
  }

 private:
  Status copy(const StepChunk& chunk, std::span<SlotEntry> entries,
              std::span<uint8_t> data) {
    uint64_t used = 0;
    size_t count = 0;
    for (uint64_t step = chunk.first_step; step < chunk.last_step; ++step) {
      const Positions mine = plan_.batches.of_ranks(step, plan_.node);
      for (uint64_t at = mine.first; at < mine.last; ++at) {
        Result<MDB_val> value = walk_to(at);
        if (!value) return std::move(value).error();
        if (value->mv_size > data.size() - used) return too_large(at);
        std::memcpy(data.data() + used, value->mv_data, value->mv_size);
        entries[count++] = {at, used, value->mv_size};
        used += value->mv_size;
      }
    }
    counts_.read_bytes += used;
    counts_.requests += count;
    return Done{};
  }

  // Like stock LMDB: the cursor reaches a record only through those before it.
  Result<MDB_val> walk_to(uint64_t record) {
    MDB_val key{}, value{};
    if (next_ > record) next_ = 0;
    while (next_ <= record) {
      const MDB_cursor_op step = next_ == 0 ? MDB_FIRST : MDB_NEXT;
      const int code =
          ::mdb_cursor_get(library_.cursor.get(), &key, &value, step);
      if (code != 0) {
        return library_error(code,
                             file_.path + ": record " + std::to_string(record));
      }
      ++next_;
    }
    return value;
  }

  Error too_large(uint64_t record) const {
    return Error{Code::kLimit, 0,
                 file_.path +
                     ": the buffer's room, from the mean size of records, "
                     "does not suffice at record " +
                     std::to_string(record) + " (dm knows the sizes)"};
  }

  const DataFile& file_;
  const Snapshot& snapshot_;
  const RunPlan& plan_;
  LibraryReader library_;
  uint64_t next_ = 0;  // record that MDB_NEXT returns
};

}  // namespace

Result<std::unique_ptr<ChunkSource>> make_cursor_source(
    const DataFile& file, const Snapshot& snapshot, const RunPlan& plan) {
  auto source = std::make_unique<CursorSource>(file, snapshot, plan);
  if (Status opened = source->open(); !opened) {
    return std::move(opened).error();
  }
  return Result<std::unique_ptr<ChunkSource>>(std::move(source));
}

}  // namespace penstock::lmdb
