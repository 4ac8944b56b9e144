// Makes an LMDB database of a folder's files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/result.h"
#include "loader/lmdb/verify.h"

namespace penstock::lmdb {

// With eight digits keys are in the order of their numbers.
inline constexpr uint64_t kMostImported = 100'000'000;
inline constexpr uint64_t kMostImportedBytes = uint64_t{1} << 30;  // of a file

struct Imported {
  uint64_t records = 0;
  uint64_t value_bytes = 0;
  std::string data_file;
  uint64_t index_bytes = 0;
};

// Each file below the folder becomes a record: its value the file's bytes, its
// key the file's number of eight digits, from 00000000 on, in the byte order of
// their paths. Files and folders whose name begins with a dot are left out.
//
// database: the folder to make, with data.mdb, lock.mdb and the sidecar in it.
// It appears when it is complete; on an error nothing stays of it.
// Errors: kNotFound         no such folder, or no file in it
//         kInvalidArgument  database is there already, source is no folder, a
//                           file is too large, or there are too many
//         kUnavailable      go_on said no
//         kPermissionDenied, kIo  a file cannot be read, or the database not
//                           written; the message says which, and what to do
[[nodiscard]] Result<Imported> import_folder(const std::string& source,
                                             const std::string& database,
                                             const GoOn& go_on);

}  // namespace penstock::lmdb
