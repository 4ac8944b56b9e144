// Compares Penstock's reading of a database with liblmdb's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock::lmdb {

struct Verified {
  uint64_t records = 0;
  uint64_t value_bytes = 0;
  bool has_index = false;     // the sidecar was used; it equals the walk
  std::string index_refusal;  // why an existing sidecar was not used; else ""
};

// Progress in records. Returns false to stop.
using GoOn = std::function<bool(uint64_t done, uint64_t all)>;

// Compares each record's key and value with those of liblmdb's cursor, and the
// sidecar, if it is used, with the walk. Stops at the first difference.
// Errors: those of Database::open() and of liblmdb
//         kIo           a record differs; the message says which, and how
//         kUnavailable  the database is being written; go_on returned false
[[nodiscard]] Result<Verified> verify(const std::string& path,
                                      const GoOn& go_on);

// Errors: kIo  the records differ; the message says in what
[[nodiscard]] Status compare_record(uint64_t number, std::string_view our_key,
                                    std::string_view our_value,
                                    std::string_view library_key,
                                    std::string_view library_value);

}  // namespace penstock::lmdb
