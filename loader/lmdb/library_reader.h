// A cursor of liblmdb's over a data file's records, and what it needs.
#pragma once

#include <string>

#include "loader/lmdb/liblmdb.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

// On the transaction that is the newest when it is opened; its slot in the lock
// file, where one can be had, keeps that transaction's pages as they are. The
// lock file is the one that writers of this database use: DIR/lock.mdb for
// DIR/data.mdb, else the file's own. Used by one thread at a time.
struct LibraryReader {
  LibraryEnv env;
  LibraryTxn txn;
  LibraryCursor cursor;
  MDB_dbi dbi = 0;

  // Errors: library_error()'s
  [[nodiscard]] Status open(const std::string& data_file);
  // fd, snapshot: what has been read of the file so far.
  // Errors: as above; kUnavailable  liblmdb has another state, or another file
  [[nodiscard]] Status open_at(const std::string& data_file, int fd,
                               const Snapshot& snapshot);
  // MDB_NOTFOUND: there are no more.
  int next(MDB_val& key, MDB_val& value) const {
    return mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT);
  }

 private:
  [[nodiscard]] int open_env(const std::string& file, unsigned flags);
};

}  // namespace penstock::lmdb
