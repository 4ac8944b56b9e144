// An LMDB database as an indexed list of values in its file.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"
#include "loader/lmdb/record_index.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

// path: a folder with data.mdb, or a data file (MDB_NOSUBDIR).
// Errors: kNotFound, kPermissionDenied, kIo  name the path
//         kInvalidArgument  not a regular file
struct DataFile {
  std::string path;
  UniqueFd fd;
};
[[nodiscard]] Result<DataFile> open_data_file(const std::string& path);

// Whether path is a folder with data.mdb, or a file that starts with LMDB's
// magic number. False if it is unreadable.
bool is_database(const std::string& path);

struct DatabaseOptions {
  bool use_sidecar = true;
  uint64_t seed = 0;  // selects the leaf pages for check_sample()
};

class Database {
 public:
  // Takes the index from the sidecar if that matches the database's present
  // state; else walks the tree.
  // Errors: those of open_data_file(), take_snapshot() and walk_tree(), with
  // the file's name
  [[nodiscard]] static Result<Database> open(const std::string& path,
                                             const DatabaseOptions& options);

  // A database without an index: call read_sidecar() or set_index() next.
  static Database without_index(DataFile file, const Snapshot& snapshot);
  // Errors: kNotFound, kInvalidArgument, kIo  no sidecar that matches the
  //                                           database
  [[nodiscard]] Status read_sidecar(const DatabaseOptions& options);
  // index: of this snapshot, found by other means.
  void set_index(RecordIndex index) { index_ = std::move(index); }

  const std::string& path() const { return file_.path; }  // of the data file
  int fd() const { return file_.fd.get(); }
  const Snapshot& snapshot() const { return snapshot_; }
  const RecordIndex& index() const { return index_; }
  bool is_from_sidecar() const { return is_from_sidecar_; }
  // Why an existing sidecar was not used; "": it was used, or none exists.
  const std::string& sidecar_refusal() const { return sidecar_refusal_; }

  // Whether all reads since open() are of the snapshot.
  // Errors: kUnavailable  not for certain: the database was written
  //         kIo           the meta pages are unreadable
  [[nodiscard]] Status check_intact() const;

 private:
  Database() = default;
  [[nodiscard]] Status walk();

  DataFile file_;
  Snapshot snapshot_;
  RecordIndex index_;
  bool is_from_sidecar_ = false;
  std::string sidecar_refusal_;
};

std::string sidecar_path(const std::string& data_file);

}  // namespace penstock::lmdb
