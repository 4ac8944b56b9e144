// The sidecar: a file beside a database that stores its index, so that readers
// need not walk the tree. `penstock lmdb index` and the importer write it. For
// the format see docs/lmdb_index.md.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "loader/lmdb/page_source.h"
#include "loader/lmdb/record_index.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

inline constexpr const char* kSidecarEnding = ".penstock-index";

// The file's contents. Pure.
std::string format_sidecar(const Snapshot& snapshot, const RecordIndex& index);

// The index, if it is of that state of the database. All of its records are
// within the file; whether their positions are right, check_sample() checks on
// a sample. Pure.
// Errors: kInvalidArgument  not an index, damaged, or of another version
//         kNotFound         of another state, or of another database
[[nodiscard]] Result<RecordIndex> parse_sidecar(std::string_view text,
                                                const Snapshot& snapshot);

// Compares the index with the first leaf page, the last one, and kSampledLeaves
// pages selected by seed. For the first record of each page it also checks the
// header of the overflow page.
// Errors: kNotFound  a record differs
//         the source's, and those of page_format.h
inline constexpr int kSampledLeaves = 8;
[[nodiscard]] Status check_sample(PageSource& source, const Snapshot& snapshot,
                                  const RecordIndex& index, uint64_t seed);

}  // namespace penstock::lmdb
