// liblmdb's cursor over a data file's records, with its environment.
#pragma once

#include <string>

#include "loader/lmdb/liblmdb.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

// Reads the transaction that is newest at open(). Its slot in the lock file, if
// there is one, keeps that transaction's pages unchanged. The lock file is that
// of the database's writers: DIR/lock.mdb for DIR/data.mdb, else the file's
// own. For one thread at a time.
struct LibraryReader {
  LibraryEnv env;
  LibraryTxn txn;
  LibraryCursor cursor;
  MDB_dbi dbi = 0;

  // Errors: library_error()'s
  [[nodiscard]] Status open(const std::string& data_file);
  // Also checks that liblmdb has the file fd open, at the snapshot's
  // transaction.
  // Errors: as above; kUnavailable  another state, or another file
  [[nodiscard]] Status open_at(const std::string& data_file, int fd,
                               const Snapshot& snapshot);
  // MDB_NOTFOUND: no more records.
  int next(MDB_val& key, MDB_val& value) const {
    return mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT);
  }

 private:
  [[nodiscard]] int open_env(const std::string& file, unsigned flags);
};

}  // namespace penstock::lmdb
