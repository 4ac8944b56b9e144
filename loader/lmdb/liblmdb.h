// liblmdb's handles, closed by their owners, and its errors as ours.
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

// code: what a function of liblmdb returned; errno's numbers, or its own.
inline Error library_error(int code, const std::string& what) {
  if (code > 0) return system_error(code, what);
  return Error{Code::kIo, 0, what + ": " + mdb_strerror(code)};
}

// A cursor over a data file's records, and what it needs.
struct LibraryRecords {
  LibraryEnv env;
  LibraryTxn txn;
  LibraryCursor cursor;
  MDB_dbi dbi = 0;

  // As Caffe opens it. Errors: library_error()'s
  [[nodiscard]] Status open(const std::string& data_file) {
    MDB_env* handle = nullptr;
    int code = mdb_env_create(&handle);
    env.reset(handle);
    constexpr unsigned kFlags = MDB_RDONLY | MDB_NOTLS | MDB_NOSUBDIR;
    if (code == 0) code = mdb_env_open(handle, data_file.c_str(), kFlags, 0664);
    MDB_txn* begun = nullptr;
    if (code == 0) code = mdb_txn_begin(handle, nullptr, MDB_RDONLY, &begun);
    txn.reset(begun);
    if (code == 0) code = mdb_dbi_open(begun, nullptr, 0, &dbi);
    MDB_cursor* opened = nullptr;
    if (code == 0) code = mdb_cursor_open(begun, dbi, &opened);
    cursor.reset(opened);
    if (code != 0) return library_error(code, data_file + ": liblmdb");
    return Done{};
  }
};

}  // namespace penstock::lmdb
