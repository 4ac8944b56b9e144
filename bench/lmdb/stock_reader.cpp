#include "bench/lmdb/stock_reader.h"

#include "common/clock.h"
#include "loader/lmdb/library_reader.h"
#include "loader/lmdb/mpi/batch_plan.h"
#include "penstock/loader/epoch_order.h"

namespace penstock::lmdb {
namespace {

class StockCursor {
 public:
  Status open(const std::string& file) {
    file_ = file;
    return library_.open(file);
  }

  uint64_t records() const {
    MDB_stat stat{};
    const int code = ::mdb_stat(library_.txn.get(), library_.dbi, &stat);
    return code == 0 ? stat.ms_entries : 0;
  }

  Status move(MDB_cursor_op step, MDB_val& key, MDB_val& value) {
    return check(::mdb_cursor_get(library_.cursor.get(), &key, &value, step));
  }
  Status find(const std::string& name, MDB_val& value) {
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    return check(::mdb_get(library_.txn.get(), library_.dbi, &key, &value));
  }

 private:
  Status check(int code) const {
    if (code == 0) return Done{};
    return library_error(code, file_);
  }

  std::string file_;
  LibraryReader library_;
};

void add_value(const MDB_val& value, RankResult& result) {
  result.add({static_cast<const uint8_t*>(value.mv_data), value.mv_size});
}

Status read_in_turn(StockCursor& cursor, uint64_t end_ns, uint64_t rank,
                    uint64_t ranks, RankResult& result) {
  MDB_val key{}, value{};
  const uint64_t records = cursor.records();
  for (uint64_t i = 0; i < records; ++i) {
    Status moved = cursor.move(i == 0 ? MDB_FIRST : MDB_NEXT, key, value);
    if (!moved) return moved;
    if (i % ranks != rank) continue;
    add_value(value, result);
    if (monotonic_ns() >= end_ns) break;
  }
  return Done{};
}

Status read_shuffled(StockCursor& cursor, const ReaderOptions& options,
                     uint64_t end_ns, uint64_t epoch, const BatchPlan& plan,
                     uint32_t rank, const std::vector<std::string>& keys,
                     RankResult& result) {
  const EpochOrder order(plan.records, options.seed);
  for (uint64_t step = 0; step < plan.steps(); ++step) {
    const Positions mine = plan.of_ranks(step, {rank, 1});
    for (uint64_t at = mine.first; at < mine.last; ++at) {
      MDB_val value{};
      Status found = cursor.find(keys[order.sample_at(epoch, at)], value);
      if (!found) return found;
      add_value(value, result);
      if (monotonic_ns() >= end_ns) return Done{};
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<std::string>> list_keys(const std::string& data_file) {
  StockCursor cursor;
  if (Status ok = cursor.open(data_file); !ok) return std::move(ok).error();
  std::vector<std::string> keys(cursor.records());
  for (size_t i = 0; i < keys.size(); ++i) {
    MDB_val key{}, value{};
    Status moved = cursor.move(i == 0 ? MDB_FIRST : MDB_NEXT, key, value);
    if (!moved) return std::move(moved).error();
    keys[i].assign(static_cast<const char*>(key.mv_data), key.mv_size);
  }
  return keys;
}

Status read_stock(const std::string& data_file, const ReaderOptions& options,
                  StockTime time, int rank, int ranks,
                  const std::vector<std::string>& keys, RankResult& result) {
  StockCursor cursor;
  if (Status ok = cursor.open(data_file); !ok) return ok;
  const BatchPlan plan{cursor.records(), static_cast<uint32_t>(ranks),
                       options.batch_records, 1};
  if (plan.records == 0) return Done{};
  for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
    Status read =
        options.shuffle
            ? read_shuffled(cursor, options, time.end_ns, epoch, plan,
                            static_cast<uint32_t>(rank), keys, result)
            : read_in_turn(cursor, time.end_ns, static_cast<uint64_t>(rank),
                           static_cast<uint64_t>(ranks), result);
    if (!read) return read;
  }
  result.seconds = static_cast<double>(monotonic_ns() - time.begin_ns) * 1e-9;
  return Done{};
}

}  // namespace penstock::lmdb
