// Makes an LMDB database of a dataset's samples.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"
#include "loader/lmdb/verify.h"
#include "penstock/loader/dataset.h"

namespace penstock::lmdb {

struct Imported {
  uint64_t records = 0;
  uint64_t labels = 0;  // records that have one
  uint64_t value_bytes = 0;
  std::string data_file;
  uint64_t index_bytes = 0;
};

// Each sample becomes a record, in the dataset's order: its value the bytes of
// the picture's file, its key record_key() of its number and label.
//
// database: the folder to make, with data.mdb, lock.mdb and the sidecar in it.
// It appears when it is complete; on an error nothing stays of it.
// Errors: kInvalidArgument  database is there already, source is of tensors, or
//                           it has more than kMostNumbered samples
//         kUnavailable      go_on said no
//         a reader's        a sample cannot be read; also one that is empty
//         kPermissionDenied, kIo  the database cannot be written; the message
//                           says what to do
[[nodiscard]] Result<Imported> import_samples(const Dataset& source,
                                              const std::string& database,
                                              const GoOn& go_on);

}  // namespace penstock::lmdb
