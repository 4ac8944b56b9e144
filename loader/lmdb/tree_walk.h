// Finds a database's records by its branch and leaf pages alone; the pages of
// large values are not touched.
//
// First the branch pages, level by level and each level in batches, give the
// list of leaf pages. It can be cut anywhere: whoever holds a part of it finds
// that part's records without the others, in parallel.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "loader/lmdb/page_source.h"
#include "loader/lmdb/snapshot.h"

namespace penstock::lmdb {

// Numbers of the leaf pages, in key order; none of an empty database.
// Errors: kIo, kInvalidArgument  the source's, and those of page_format.h
[[nodiscard]] Result<std::vector<uint64_t>> find_leaves(
    PageSource& source, const Snapshot& snapshot);

using TakeRecord = std::function<void(const Record&)>;
// Calls take for each record of these leaves, in key order. The record's key
// is valid during the call only.
// Errors: as above; kIo  there are more than the database says. take was called
// for what is before the place
[[nodiscard]] Status walk_leaves(PageSource& source, const Snapshot& snapshot,
                                 std::span<const uint64_t> leaves,
                                 const TakeRecord& take);

// find_leaves() and walk_leaves() of all of them, and whether there are as many
// records as the database says.
[[nodiscard]] Status walk_tree(PageSource& source, const Snapshot& snapshot,
                               const TakeRecord& take);

}  // namespace penstock::lmdb
