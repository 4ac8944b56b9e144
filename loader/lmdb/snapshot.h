// The state of a database at one transaction.
//
// LMDB never writes to a page that the newest state uses: a transaction copies
// what it changes, and pages that transaction N+1 gave up are written to by
// N+3 at the earliest, once N+2 is committed. So what was read belongs to
// transaction N for certain as long as the newest transaction afterwards is N
// or N+1. No slot in LMDB's lock file is taken, which would need a folder to
// write to.
#pragma once

#include <cstdint>

#include "common/result.h"
#include "loader/lmdb/page_format.h"

namespace penstock::lmdb {

struct Snapshot {
  Meta meta;
  uint64_t file_bytes = 0;
  int64_t mtime_s = 0;
  uint32_t mtime_ns = 0;

  Bounds bounds() const {
    return {meta.page_bytes, meta.last_page, file_bytes};
  }
  bool operator==(const Snapshot&) const = default;
};

// The newest state of an open data file.
// Errors: parse_meta()'s; kIo, and
//         kUnavailable  a writer commits all the time, or replaces the file
[[nodiscard]] Result<Snapshot> take_snapshot(int fd);

// Whether everything that was read so far belongs to the snapshot.
// Errors: kUnavailable  not for certain: the database is being written
//         kIo           its meta pages cannot be read, or are cut off
[[nodiscard]] Status check_intact(int fd, const Snapshot& snapshot);

// The same of a file that is mapped, at next to no cost: true is certain, false
// is for check_intact() to explain. mapped: as much as the snapshot's file has.
bool is_unchanged(Bytes mapped, const Snapshot& snapshot);

}  // namespace penstock::lmdb
