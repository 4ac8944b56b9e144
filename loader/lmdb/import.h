// Creates an LMDB database from a dataset's samples.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"
#include "loader/lmdb/verify.h"
#include "penstock/loader/dataset.h"

namespace penstock::lmdb {

struct Imported {
  uint64_t records = 0;
  uint64_t labels = 0;  // records with a label
  uint64_t value_bytes = 0;
  std::string data_file;
  uint64_t index_bytes = 0;
};

// Each sample becomes a record, in the dataset's order. The value is the
// picture file, the key record_key() of the sample's number and label.
//
// database: the folder to create, with data.mdb, lock.mdb and the sidecar. It
// appears only when it is complete; after an error nothing of it remains.
// Errors: kInvalidArgument  database exists; source has tensors, or more than
//                           kMostNumbered samples
//         kUnavailable      go_on returned false
//         a reader's        a sample is unreadable, or empty
//         kPermissionDenied, kIo  the database cannot be written; the message
//                           says what to do
[[nodiscard]] Result<Imported> import_samples(const Dataset& source,
                                              const std::string& database,
                                              const GoOn& go_on);

}  // namespace penstock::lmdb
