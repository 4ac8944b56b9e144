// Owners of liblmdb's handles, and conversion of its errors.
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>

#include "common/result.h"

namespace penstock::lmdb {

struct LibraryCloser {
  void operator()(MDB_env* it) const { mdb_env_close(it); }
  void operator()(MDB_txn* it) const { mdb_txn_abort(it); }
  void operator()(MDB_cursor* it) const { mdb_cursor_close(it); }
};
using LibraryEnv = std::unique_ptr<MDB_env, LibraryCloser>;
using LibraryTxn = std::unique_ptr<MDB_txn, LibraryCloser>;
using LibraryCursor = std::unique_ptr<MDB_cursor, LibraryCloser>;

// code: a liblmdb function's return value: an errno value (> 0) or a code of
// its own.
inline Error library_error(int code, const std::string& what) {
  if (code > 0) return system_error(code, what);
  return Error{Code::kIo, 0, what + ": " + mdb_strerror(code)};
}

}  // namespace penstock::lmdb
