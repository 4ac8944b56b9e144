// Our reading of a database against liblmdb's own.
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
  bool has_index = false;     // and it says the same as the walk
  std::string index_refusal;  // why one that is there is not used; "": not so
};

// So many of all records are done. Returns whether to go on.
using GoOn = std::function<bool(uint64_t done, uint64_t all)>;

// Compares each record's key and value with what liblmdb's cursor gives, and
// the sidecar, where it is used, with the walk. Stops at the first difference.
// Errors: Database::open()'s, and liblmdb's
//         kIo           a record differs; the message says which, and how
//         kUnavailable  the database is being written, or go_on said no
[[nodiscard]] Result<Verified> verify(const std::string& path,
                                      const GoOn& go_on);

// Errors: kIo  the two differ, and in what
[[nodiscard]] Status compare_record(uint64_t number, std::string_view our_key,
                                    std::string_view our_value,
                                    std::string_view library_key,
                                    std::string_view library_value);

}  // namespace penstock::lmdb
