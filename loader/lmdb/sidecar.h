// The file beside a database that keeps its index, so that nothing has to be
// walked: written by `penstock lmdb index` and by the importer.
// docs/lmdb_index.md describes the format.
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

// The index, if it is that database's. All of its records are within the file;
// whether they are the right ones, check_sample() tells. Pure.
// Errors: kInvalidArgument  no index, damaged, or of another version
//         kNotFound         another state of the database, or another one
[[nodiscard]] Result<RecordIndex> parse_sidecar(std::string_view text,
                                                const Snapshot& snapshot);

// Compares the index with the first leaf page, the last one, and kSampledLeaves
// that seed chooses, and with the headers of their overflow pages.
// Errors: kNotFound  a record differs
//         the source's, and those of page_format.h
inline constexpr int kSampledLeaves = 8;
[[nodiscard]] Status check_sample(PageSource& source, const Snapshot& snapshot,
                                  const RecordIndex& index, uint64_t seed);

}  // namespace penstock::lmdb
