#include "loader/lmdb/library_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>

namespace penstock::lmdb {
namespace {

constexpr std::string_view kInFolder = "/data.mdb";

bool is_same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

int LibraryReader::open_env(const std::string& file, unsigned flags) {
  MDB_env* handle = nullptr;
  if (const int error = mdb_env_create(&handle)) return error;
  env.reset(handle);
  // The path decides the lock file: it must be the one that a writer uses.
  std::string path = file.find('/') == file.npos ? "./" + file : file;
  if (path.ends_with(kInFolder)) {
    path.resize(path.size() - kInFolder.size() + 1);  // "/" too
  } else {
    flags |= MDB_NOSUBDIR;
  }
  // MDB_NOTLS: the thread that opens may differ from the one that reads.
  constexpr unsigned kFlags = MDB_RDONLY | MDB_NOTLS;
  return mdb_env_open(handle, path.c_str(), kFlags | flags, 0666);
}

Status LibraryReader::open(const std::string& data_file) {
  int error = open_env(data_file, 0);
  // Without write access to the lock file, read without a lock.
  if (error == EACCES || error == EROFS) {
    error = open_env(data_file, MDB_NOLOCK);
  }
  MDB_txn* begun = nullptr;
  if (error == 0) {
    error = mdb_txn_begin(env.get(), nullptr, MDB_RDONLY, &begun);
    txn.reset(begun);
  }
  if (error == 0) error = mdb_dbi_open(begun, nullptr, 0, &dbi);
  MDB_cursor* opened = nullptr;
  if (error == 0) {
    error = mdb_cursor_open(begun, dbi, &opened);
    cursor.reset(opened);
  }
  if (error != 0) return library_error(error, data_file + ": liblmdb");
  return Done{};
}

Status LibraryReader::open_at(const std::string& data_file, int fd,
                              const Snapshot& snapshot) {
  if (Status opened = open(data_file); !opened) return opened;
  mdb_filehandle_t its = -1;
  mdb_env_get_fd(env.get(), &its);
  if (mdb_txn_id(txn.get()) == snapshot.meta.txnid && is_same_file(its, fd)) {
    return Done{};
  }
  return being_written().wrap(data_file);
}

}  // namespace penstock::lmdb
