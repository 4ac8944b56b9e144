// LMDB's data file, read without its library: pure parsers of single pages.
//
// The format is that of LMDB 0.9 (MDB_DATA_VERSION 1) on 64-bit, little-endian
// machines: pages of one size, two meta pages first, B+trees of branch, leaf
// and overflow pages. Each number that comes from the file is checked before
// it is used; errors name the page and not the file, which the caller adds.
//
// Errors of all parsers here:
//   kInvalidArgument  no LMDB database, or of a kind that is not read; the
//                     message says what to do
//   kIo               damaged, or truncated
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock::lmdb {

inline constexpr uint32_t kPageHeaderBytes = 16;
inline constexpr uint32_t kMinPageBytes = 512;
inline constexpr uint32_t kMaxPageBytes = 32768;  // MAX_PAGESIZE of LMDB 0.9
inline constexpr uint32_t kMetaBytes = 152;       // header and meta
inline constexpr uint64_t kNoPage = UINT64_MAX;   // an empty tree's root
inline constexpr int kMaxDepth = 32;              // LMDB's CURSOR_STACK

using Bytes = std::span<const uint8_t>;

// What a meta page says of the tree of records.
struct Tree {
  uint16_t flags = 0;
  uint16_t depth = 0;  // 0: empty; 1: the root is a leaf
  uint64_t records = 0;
  uint64_t root = kNoPage;

  bool operator==(const Tree&) const = default;
};

struct Meta {
  uint32_t page_bytes = 0;
  uint64_t last_page = 0;  // the highest number in use
  uint64_t txnid = 0;      // of the transaction that wrote it
  Tree main;

  bool operator==(const Meta&) const = default;
};

// What page numbers and offsets have to keep to.
struct Bounds {
  uint32_t page_bytes = 0;
  uint64_t last_page = 0;
  uint64_t file_bytes = 0;
};

// A record's value: bytes of the file, whether in a leaf page or in overflow
// pages of its own.
struct RecordSpan {
  uint64_t offset = 0;
  uint32_t bytes = 0;

  bool operator==(const RecordSpan&) const = default;
};

// `key` is in the page that was parsed.
struct Record {
  std::string_view key;
  RecordSpan value;
};

// Whether it is a meta page of any LMDB, also of one that is not read. page: as
// much as there is of it.
bool has_magic(Bytes page);

// page: the first kMetaBytes of a meta page, or more.
[[nodiscard]] Result<Meta> parse_meta(Bytes page);

// Whether it is a database that is read: one value a key. Of the newest meta
// page only: the other may be from before that was chosen.
[[nodiscard]] Status check_kind(const Meta& meta);

// Appends the numbers of the pages below, in key order. page: all of it.
[[nodiscard]] Status parse_branch(Bytes page, uint64_t number,
                                  const Bounds& bounds,
                                  std::vector<uint64_t>& children);

// Appends the records, in key order. page: all of it.
[[nodiscard]] Status parse_leaf(Bytes page, uint64_t number,
                                const Bounds& bounds,
                                std::vector<Record>& records);

// Whether a value is in overflow pages; it begins behind their header then.
inline bool is_overflow(const RecordSpan& value, uint32_t page_bytes) {
  return value.offset % page_bytes == kPageHeaderBytes;
}
uint64_t overflow_pages(uint32_t value_bytes, uint32_t page_bytes);

// Whether the first overflow page of a value is what its leaf says. header: the
// kPageHeaderBytes before the value.
[[nodiscard]] Status check_overflow(Bytes header, const RecordSpan& value,
                                    uint32_t page_bytes);

}  // namespace penstock::lmdb
