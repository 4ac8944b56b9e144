// Parsers of single pages of LMDB's data file, without liblmdb.
//
// The format is that of LMDB 0.9 (MDB_DATA_VERSION 1) on 64-bit, little-endian
// machines: pages of one size, two meta pages first, B+trees of branch, leaf
// and overflow pages. Each number from the file is checked before use. Errors
// name the page; the caller adds the file.
//
// Errors of all parsers here:
//   kInvalidArgument  not an LMDB database, or an unsupported kind; the message
//                     says what to do
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

// A meta page's description of the tree of records.
struct Tree {
  uint16_t flags = 0;
  uint16_t depth = 0;  // 0: empty; 1: the root is a leaf
  uint64_t records = 0;
  uint64_t root = kNoPage;

  bool operator==(const Tree&) const = default;
};

struct Meta {
  uint32_t page_bytes = 0;
  uint64_t last_page = 0;  // the highest page number in use
  uint64_t txnid = 0;      // of the transaction that wrote the meta page
  Tree main;

  bool operator==(const Meta&) const = default;
};

// Limits of page numbers and offsets.
struct Bounds {
  uint32_t page_bytes = 0;
  uint64_t last_page = 0;
  uint64_t file_bytes = 0;
};

// A record's value: a range of the file, in a leaf page or in its own overflow
// pages.
struct RecordSpan {
  uint64_t offset = 0;
  uint32_t bytes = 0;

  bool operator==(const RecordSpan&) const = default;
};

// `key` refers to the parsed page.
struct Record {
  std::string_view key;
  RecordSpan value;
};

// Whether it is a meta page of any LMDB version or byte order, even an
// unsupported one. page: may be shorter than a page.
bool has_magic(Bytes page);

// page: the first kMetaBytes of a meta page, or more.
[[nodiscard]] Result<Meta> parse_meta(Bytes page);

// Whether the database is of a supported kind: one value per key. meta: the
// newest one; the older one may date from before that was set.
[[nodiscard]] Status check_kind(const Meta& meta);

// Appends the numbers of the child pages, in key order. page: the whole page.
[[nodiscard]] Status parse_branch(Bytes page, uint64_t number,
                                  const Bounds& bounds,
                                  std::vector<uint64_t>& children);

// Appends the records, in key order. page: the whole page.
[[nodiscard]] Status parse_leaf(Bytes page, uint64_t number,
                                const Bounds& bounds,
                                std::vector<Record>& records);

// Whether a value is in overflow pages: then it starts after a page header.
inline bool is_overflow(const RecordSpan& value, uint32_t page_bytes) {
  return value.offset % page_bytes == kPageHeaderBytes;
}
uint64_t overflow_pages(uint32_t value_bytes, uint32_t page_bytes);

// Whether the first overflow page of a value matches the leaf's entry.
//   header  the kPageHeaderBytes before the value
[[nodiscard]] Status check_overflow(Bytes header, const RecordSpan& value,
                                    uint32_t page_bytes);

}  // namespace penstock::lmdb
