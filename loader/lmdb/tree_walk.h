// Finds a database's records from its branch and leaf pages alone; overflow
// pages are not read.
//
// find_leaves() reads the branch pages level by level, each in batches, and
// returns the list of leaf pages. The list can be divided anywhere, for readers
// that walk their parts in parallel.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "loader/lmdb/page_source.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

// Numbers of the leaf pages, in key order; empty for an empty database.
// Errors: kIo, kInvalidArgument  the source's, and those of page_format.h
[[nodiscard]] Result<std::vector<uint64_t>> find_leaves(
    PageSource& source, const Snapshot& snapshot);

using TakeRecord = std::function<void(const Record&)>;
// Calls `take` for each record of these leaves, in key order. The record's key
// is valid only during the call. Before an error, `take` was called for the
// records of earlier pages.
// Errors: as above; kIo  more records than the meta page says
[[nodiscard]] Status walk_leaves(PageSource& source, const Snapshot& snapshot,
                                 std::span<const uint64_t> leaves,
                                 const TakeRecord& take);

// Walks all leaves. Also fails (kIo) if the number of records differs from the
// meta page's.
[[nodiscard]] Status walk_tree(PageSource& source, const Snapshot& snapshot,
                               const TakeRecord& take);

}  // namespace penstock::lmdb
