// What the documents of one family have in common: how they write what is
// unknown, and how their errors are worded. Plain values; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "common/result.h"

namespace penstock {

// Why a field was refused.
struct FieldFault {
  enum class Kind {
    kMissing,  // the other members are as for kType
    kType,
    kRange,    // also of a text too long and of a name not known
    kTooMany,  // entries
    kUnknown,  // not a field
    kRule      // a requirement of the description; `allowed` says which
  };
  Kind kind = Kind::kMissing;
  std::string path;       // to the field, as the dialect writes it
  const char* type = "";  // "a number", "a whole number", "a text", "a name",
                          // "true or false", "a list", "an object"
  double low = 0, high = 0, value = 0;  // of a number out of range
  std::string allowed;                  // of a whole number: "1 to 1000"
  uint64_t most = 0;     // of a whole number, of bytes or of entries
  bool in_list = false;  // an entry of the field, not all of it
};

// What documents of one family have in common.
struct FieldDialect {
  enum class Null {
    kRefused,    // a std::optional without a value is left out
    kOptional,   // it is null, and not left out
    kIsMissing,  // either; null is the same as missing
  };
  Null null = Null::kRefused;
  double low = std::numeric_limits<double>::lowest();  // of every number
  double high = std::numeric_limits<double>::max();
  size_t text_bytes = SIZE_MAX;     // longer texts are cut
  size_t printable_bytes = 0;       // not 0: texts are made printable(), within
                                    // their rule's bytes and these
  bool refuses_unknown = false;     // fields; else ignored
  const char* separator = nullptr;  // of a path; nullptr: paths are keys
  bool shows_index = false;         // in paths
  // nullptr: a field that is refused counts as missing, and all are optional.
  Error (*error_of)(const FieldFault&) = nullptr;
};

}  // namespace penstock
