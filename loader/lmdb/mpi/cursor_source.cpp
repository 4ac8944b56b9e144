#include <lmdb.h>

#include <cstring>

#include "loader/lmdb/mpi/chunk_source.h"

namespace penstock::lmdb {
namespace {

Error lmdb_error(int code, const std::string& what) {
  return Error{code > 0 ? Code::kIo : Code::kInvalidArgument,
               code > 0 ? code : 0, what + ": " + ::mdb_strerror(code)};
}

class CursorSource : public ChunkSource {
 public:
  CursorSource(std::string file, const RunPlan& plan)
      : file_(std::move(file)), plan_(plan) {}
  ~CursorSource() override {
    if (cursor_) ::mdb_cursor_close(cursor_);
    if (txn_) ::mdb_txn_abort(txn_);
    if (env_) ::mdb_env_close(env_);
  }

  Status open() {
    constexpr unsigned kFlags = MDB_RDONLY | MDB_NOTLS | MDB_NOSUBDIR;
    MDB_dbi dbi = 0;
    int code = ::mdb_env_create(&env_);
    if (code == 0) code = ::mdb_env_open(env_, file_.c_str(), kFlags, 0664);
    if (code == 0) code = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn_);
    if (code == 0) code = ::mdb_dbi_open(txn_, nullptr, 0, &dbi);
    if (code == 0) code = ::mdb_cursor_open(txn_, dbi, &cursor_);
    if (code != 0) return lmdb_error(code, file_);
    return Done{};
  }

  Result<bool> fill(const StepChunk& chunk, std::span<SlotEntry> entries,
                    const Room& room) override {
    Result<std::span<uint8_t>> given = room();
    if (!given) return std::move(given).error();
    const std::span<uint8_t> data = *given;
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
    ++counts_.read_chunks;
    return false;
  }

 private:
  // As stock LMDB: no way to a record but through those before it.
  Result<MDB_val> walk_to(uint64_t record) {
    MDB_val key{}, value{};
    if (next_ > record) next_ = 0;
    while (next_ <= record) {
      const MDB_cursor_op step = next_ == 0 ? MDB_FIRST : MDB_NEXT;
      const int code = ::mdb_cursor_get(cursor_, &key, &value, step);
      if (code != 0) {
        return lmdb_error(code, file_ + ": record " + std::to_string(record));
      }
      ++next_;
    }
    return value;
  }

  Error too_large(uint64_t record) const {
    return Error{Code::kLimit, 0,
                 file_ +
                     ": the buffer's room, from the mean size of records, "
                     "does not suffice at record " +
                     std::to_string(record) + " (dm knows the sizes)"};
  }

  std::string file_;
  const RunPlan& plan_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  uint64_t next_ = 0;  // of MDB_NEXT
};

}  // namespace

Result<std::unique_ptr<ChunkSource>> make_cursor_source(
    const std::string& data_file, const RunPlan& plan) {
  auto source = std::make_unique<CursorSource>(data_file, plan);
  if (Status opened = source->open(); !opened) {
    return std::move(opened).error();
  }
  return Result<std::unique_ptr<ChunkSource>>(std::move(source));
}

}  // namespace penstock::lmdb
