// The state of a database at one transaction.
//
// LMDB never writes to a page of the newest state: a transaction copies what it
// changes. Pages that transaction N+1 freed are reused by N+3 at the earliest,
// after N+2 is committed. So reads are of transaction N for certain if the
// newest transaction after the reads is N or N+1.
//
// This takes no slot in LMDB's lock file, which would need a writable folder.
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

// The errors of a file that is shorter than the `bytes` that it had, and of one
// that a writer changes. or_else: what else to do.
Error cut_short(uint64_t bytes);
Error being_written(const char* or_else = "");

// The newest state of an open data file.
// Errors: those of parse_meta(); kIo
//         kUnavailable  a writer commits continuously, or replaces the file
[[nodiscard]] Result<Snapshot> take_snapshot(int fd);

// Whether all reads so far are of the snapshot.
// Errors: kUnavailable  not for certain: the database is being written
//         kIo           the meta pages are unreadable, or the file was cut off
[[nodiscard]] Status check_intact(int fd, const Snapshot& snapshot);

// A cheap check for a mapped file. True is certain; for false, check_intact()
// decides and gives the reason. mapped: the whole file of the snapshot.
bool is_unchanged(Bytes mapped, const Snapshot& snapshot);

}  // namespace penstock::lmdb
