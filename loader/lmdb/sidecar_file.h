// Writes a database's index to its sidecar.
#pragma once

#include <string>

#include "common/result.h"
#include "loader/lmdb/lmdb_database.h"

namespace penstock::lmdb {

// Writes the sidecar beside the data file and returns its size in bytes. It
// appears atomically, with the data file's mode, so both have the same readers.
// Errors: kUnavailable  the database changed since it was opened
//         kPermissionDenied, kIo  name the file and the cause
[[nodiscard]] Result<uint64_t> write_sidecar(const Database& database);

}  // namespace penstock::lmdb
