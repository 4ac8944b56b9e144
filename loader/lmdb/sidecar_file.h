// Writes the index of a database to a file.
#pragma once

#include <string>

#include "common/result.h"
#include "loader/lmdb/lmdb_database.h"

namespace penstock::lmdb {

// Beside the data file. It appears whole or not at all, with the data file's
// mode: who may read the one may read the other. Returns its size in bytes.
// Errors: kUnavailable  the database changed since it was opened
//         kPermissionDenied, kIo  name the file and the cause
[[nodiscard]] Result<uint64_t> write_sidecar(const Database& database);

}  // namespace penstock::lmdb
