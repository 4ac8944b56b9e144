#include "loader/lmdb/database_writer.h"

#include <sys/statvfs.h>

#include <cerrno>

namespace penstock::lmdb {
namespace {

MDB_val value_of(std::string& text) { return {text.size(), text.data()}; }

Error cannot_write(int code, const std::string& folder) {
  Error error = library_error(code, "cannot write " + folder + "/data.mdb");
  if (code == ENOSPC || code == EDQUOT) {
    error.message +=
        "; free some space, or name a database on another file system";
  }
  return error;
}

// liblmdb reports EIO for a write that a full disk cut short.
bool has_room(const std::string& folder, uint64_t bytes) {
  struct statvfs status {};
  return ::statvfs(folder.c_str(), &status) != 0 ||
         uint64_t{status.f_bavail} * status.f_frsize > bytes;
}

}  // namespace

Status DatabaseWriter::open(const std::string& folder, uint64_t map_bytes) {
  folder_ = folder;
  map_bytes_ = map_bytes;
  MDB_env* handle = nullptr;
  int error = mdb_env_create(&handle);
  env_.reset(handle);
  if (error == 0) error = mdb_env_set_mapsize(handle, map_bytes);
  // finish() syncs once: the database has no name for others before that.
  if (error == 0)
    error = mdb_env_open(handle, folder.c_str(), MDB_NOSYNC, 0666);
  if (error != 0) return cannot_write(error, folder_);
  return Done{};
}

Status DatabaseWriter::append(std::string key, std::string value) {
  pair_bytes_ += key.size() + value.size();
  pairs_.push_back({std::move(key), std::move(value)});
  const bool is_full =
      pair_bytes_ >= kTransactionBytes || pairs_.size() >= kTransactionRecords;
  return is_full ? flush() : Status(Done{});
}

int DatabaseWriter::write_transaction() {
  MDB_txn* transaction = nullptr;
  int error = mdb_txn_begin(env_.get(), nullptr, 0, &transaction);
  LibraryTxn txn(transaction);
  MDB_dbi dbi = 0;
  if (error == 0) error = mdb_dbi_open(transaction, nullptr, 0, &dbi);
  for (size_t i = 0; error == 0 && i < pairs_.size(); ++i) {
    MDB_val key = value_of(pairs_[i].key), value = value_of(pairs_[i].value);
    error = mdb_put(transaction, dbi, &key, &value, MDB_APPEND);
  }
  // mdb_txn_commit() frees the transaction even on failure.
  return error == 0 ? mdb_txn_commit(txn.release()) : error;
}

Status DatabaseWriter::flush() {
  int error = write_transaction();
  while (error == MDB_MAP_FULL) {
    map_bytes_ *= 2;
    error = mdb_env_set_mapsize(env_.get(), map_bytes_);
    if (error == 0) error = write_transaction();
  }
  if (error == EIO && !has_room(folder_, pair_bytes_)) error = ENOSPC;
  if (error != 0) return cannot_write(error, folder_);
  pairs_.clear();
  pair_bytes_ = 0;
  return Done{};
}

Status DatabaseWriter::finish() {
  if (Status flushed = flush(); !flushed) return flushed;
  const int error = mdb_env_sync(env_.get(), 1);
  env_.reset();
  if (error != 0) return cannot_write(error, folder_);
  return Done{};
}

}  // namespace penstock::lmdb
