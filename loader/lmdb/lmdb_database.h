// An LMDB database as a numbered list of values that are read from its file.
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
//         kInvalidArgument  no regular file
struct DataFile {
  std::string path;
  UniqueFd fd;
};
[[nodiscard]] Result<DataFile> open_data_file(const std::string& path);

// Whether path is a folder with data.mdb, or a file that begins as LMDB's do.
// What cannot be looked at is none.
bool is_database(const std::string& path);

struct DatabaseOptions {
  bool use_sidecar = true;
  uint64_t seed = 0;  // chooses what of the sidecar is compared
};

class Database {
 public:
  // Takes the index from the sidecar where there is one that belongs to the
  // database as it is now; else walks the tree.
  // Errors: open_data_file()'s, take_snapshot()'s, walk_tree()'s, each with the
  // file's name
  [[nodiscard]] static Result<Database> open(const std::string& path,
                                             const DatabaseOptions& options);

  // An opened file, without an index: one of the next two has to follow.
  static Database without_index(DataFile file, const Snapshot& snapshot);
  // Errors: kNotFound, kInvalidArgument, kIo  there is no sidecar that belongs
  //                                           to the database
  [[nodiscard]] Status read_sidecar(const DatabaseOptions& options);
  // Of this snapshot, found by others.
  void set_index(RecordIndex index) { index_ = std::move(index); }

  const std::string& path() const { return file_.path; }  // of the data file
  int fd() const { return file_.fd.get(); }
  const Snapshot& snapshot() const { return snapshot_; }
  const RecordIndex& index() const { return index_; }
  bool is_from_sidecar() const { return is_from_sidecar_; }
  // Why there is a sidecar and it was not used; "": not so.
  const std::string& sidecar_refusal() const { return sidecar_refusal_; }

  // Errors: kUnavailable  what was read since open() may not be the database
  //                       as it was then
  //         kIo           its meta pages cannot be read any more
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
