#include "loader/lmdb/page_format.h"

#include <bit>

#include "loader/lmdb/little_endian.h"

namespace penstock::lmdb {
namespace {

// lmdb.h and mdb.c of LMDB 0.9.
constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kVersion = 1;
constexpr uint16_t kBranch = 0x01, kLeaf = 0x02, kOverflow = 0x04, kMeta = 0x08;
constexpr uint16_t kKinds = 0x6F;  // bits of mp_flags for the kind of page
constexpr uint16_t kDupSort = 0x04;
constexpr uint16_t kBigData = 0x01, kSubData = 0x02, kDupData = 0x04;
constexpr uint32_t kNodeBytes = 8;
constexpr uint64_t kPageNumbers = uint64_t{1} << 48;  // limit of a branch node

// Offsets in a meta page.
constexpr size_t kMagicAt = 16, kVersionAt = 20, kPageBytesAt = 40;
constexpr size_t kMainAt = 88, kLastPageAt = 136, kTxnidAt = 144;
// Offsets in its description of a tree.
constexpr size_t kFlagsAt = 4, kDepthAt = 6, kRecordsAt = 32, kRootAt = 40;
// 32-bit machines have shorter page headers.
constexpr size_t kMagicAt32 = 12;

constexpr const char* kRewrite =
    "; on that machine run mdb_dump, and mdb_load on this one";

Error damaged(uint64_t page, const std::string& what) {
  return Error{Code::kIo, 0,
               "page " + std::to_string(page) + " is damaged: " + what};
}

// The reason why the magic number is not at its place.
Error no_magic(Bytes page) {
  const uint32_t swapped = __builtin_bswap32(kMagic);
  const auto at = [&](size_t offset) {
    return get<uint32_t>(page.data() + offset);
  };
  if (at(kMagicAt) == swapped || at(kMagicAt32) == swapped) {
    return invalid(
        std::string("an LMDB database of a big-endian machine; allowed: "
                    "little-endian") +
        kRewrite);
  }
  if (at(kMagicAt32) == kMagic) {
    return invalid(
        std::string("an LMDB database of a 32-bit machine; allowed: 64-bit") +
        kRewrite);
  }
  return invalid("no LMDB database: its first page lacks LMDB's magic number");
}

Tree read_tree(const uint8_t* from) {
  return Tree{get<uint16_t>(from + kFlagsAt), get<uint16_t>(from + kDepthAt),
              get<uint64_t>(from + kRecordsAt), get<uint64_t>(from + kRootAt)};
}

Status check_tree(const Tree& tree, uint64_t last_page) {
  const bool is_empty = tree.root == kNoPage;
  if (is_empty != (tree.depth == 0) || (is_empty && tree.records != 0) ||
      tree.depth > kMaxDepth) {
    return Error{Code::kIo, 0,
                 "the meta page is damaged: depth " +
                     std::to_string(tree.depth) + " with " +
                     std::to_string(tree.records) + " records"};
  }
  if (!is_empty && (tree.root < 2 || tree.root > last_page)) {
    return Error{Code::kIo, 0,
                 "the meta page is damaged: its root is page " +
                     std::to_string(tree.root) + " of " +
                     std::to_string(last_page)};
  }
  return Done{};
}

Status check_bounds(uint64_t page, uint64_t pages, uint64_t from,
                    const Bounds& bounds) {
  if (page < 2 || page > bounds.last_page ||
      pages > bounds.last_page - page + 1) {
    return damaged(from, "it refers to page " + std::to_string(page) +
                             ", and the last one is " +
                             std::to_string(bounds.last_page));
  }
  if (page + pages > bounds.file_bytes / bounds.page_bytes) {
    return Error{Code::kIo, 0,
                 "the file is truncated: page " +
                     std::to_string(page + pages - 1) + " is beyond its " +
                     std::to_string(bounds.file_bytes) + " bytes"};
  }
  return Done{};
}

// A page's checked array of nodes.
struct Nodes {
  const uint8_t* page;
  uint32_t count;

  uint16_t at(uint32_t index) const {
    return get<uint16_t>(page + kPageHeaderBytes + size_t{2} * index);
  }
};

Result<Nodes> parse_nodes(Bytes page, uint64_t number, uint16_t kind) {
  const uint16_t flags = get<uint16_t>(page.data() + 10);
  if (get<uint64_t>(page.data()) != number || (flags & kKinds) != kind) {
    return damaged(number,
                   "it says that it is page " +
                       std::to_string(get<uint64_t>(page.data())) +
                       " with flags " + std::to_string(flags) +
                       (kind == kLeaf ? ", no leaf page" : ", no branch page"));
  }
  const uint32_t lower = get<uint16_t>(page.data() + 12);
  const uint32_t upper = get<uint16_t>(page.data() + 14);
  if (lower <= kPageHeaderBytes || lower % 2 != 0 || lower > upper ||
      upper > page.size()) {
    return damaged(number, "its free space is from byte " +
                               std::to_string(lower) + " to " +
                               std::to_string(upper));
  }
  Nodes nodes{page.data(), (lower - kPageHeaderBytes) / 2};
  for (uint32_t i = 0; i < nodes.count; ++i) {
    const uint32_t at = nodes.at(i);
    if (at < upper || at + kNodeBytes > page.size() ||
        at + kNodeBytes + get<uint16_t>(page.data() + at + 6) > page.size()) {
      return damaged(number, "node " + std::to_string(i) + " is at byte " +
                                 std::to_string(at));
    }
  }
  return nodes;
}

uint32_t low_half(const uint8_t* node) { return get<uint32_t>(node); }

// The value of a leaf node. The node's key was already checked to be within the
// page.
Result<RecordSpan> parse_value(Bytes page, uint64_t number, uint32_t node_at,
                               const Bounds& bounds) {
  const uint8_t* node = page.data() + node_at;
  const uint16_t flags = get<uint16_t>(node + 4);
  const uint32_t at = node_at + kNodeBytes + get<uint16_t>(node + 6);
  const uint32_t value_bytes = low_half(node);
  if ((flags & kSubData) != 0) {
    return invalid(
        "the database has sub-databases, which are not read; copy one into a "
        "database of its own: mdb_dump -s NAME DB | grep -v ^database= | "
        "mdb_load NEW_DB");
  }
  if ((flags & ~kBigData) != 0) {
    return damaged(number, "a node has flags " + std::to_string(flags));
  }
  const uint64_t in_page = flags == kBigData ? sizeof(uint64_t) : value_bytes;
  if (at + in_page > page.size()) {
    return damaged(number, "a value of " + std::to_string(value_bytes) +
                               " bytes is at byte " + std::to_string(at));
  }
  if (flags != kBigData) {
    return RecordSpan{number * bounds.page_bytes + at, value_bytes};
  }
  const uint64_t first = get<uint64_t>(page.data() + at);
  Status inside = check_bounds(
      first, overflow_pages(value_bytes, bounds.page_bytes), number, bounds);
  if (!inside) return std::move(inside).error();
  return RecordSpan{first * bounds.page_bytes + kPageHeaderBytes, value_bytes};
}

}  // namespace

bool has_magic(Bytes page) {
  for (const size_t at : {kMagicAt, kMagicAt32}) {
    if (page.size() < at + sizeof kMagic) continue;
    const auto number = get<uint32_t>(page.data() + at);
    if (number == kMagic || number == __builtin_bswap32(kMagic)) return true;
  }
  return false;
}

Result<Meta> parse_meta(Bytes page) {
  if (page.size() < kMetaBytes) {
    return invalid("no LMDB database: " + std::to_string(page.size()) +
                   " bytes, shorter than its first page");
  }
  if (get<uint32_t>(page.data() + kMagicAt) != kMagic) return no_magic(page);
  const uint32_t version = get<uint32_t>(page.data() + kVersionAt);
  if (version != kVersion) {
    return invalid("an LMDB database of format " + std::to_string(version) +
                   "; allowed: 1, LMDB 0.9's; dump it with the mdb_dump that "
                   "belongs to it, and load it with mdb_load of LMDB 0.9");
  }
  if ((get<uint16_t>(page.data() + 10) & kMeta) == 0) {
    return Error{Code::kIo, 0, "the meta page is damaged: its flags"};
  }
  Meta meta{get<uint32_t>(page.data() + kPageBytesAt),
            get<uint64_t>(page.data() + kLastPageAt),
            get<uint64_t>(page.data() + kTxnidAt),
            read_tree(page.data() + kMainAt)};
  if (meta.page_bytes < kMinPageBytes || meta.page_bytes > kMaxPageBytes ||
      !std::has_single_bit(meta.page_bytes)) {
    return Error{Code::kIo, 0,
                 "the meta page is damaged: pages of " +
                     std::to_string(meta.page_bytes) +
                     " bytes; allowed: a power of two from 512 to 32768"};
  }
  if (meta.last_page >= kPageNumbers) {
    return Error{Code::kIo, 0,
                 "the meta page is damaged: its last page is " +
                     std::to_string(meta.last_page)};
  }
  Status sound = check_tree(meta.main, meta.last_page);
  if (!sound) return std::move(sound).error();
  return meta;
}

Status check_kind(const Meta& meta) {
  if ((meta.main.flags & kDupSort) != 0) {
    return invalid(
        "the database has several values a key (MDB_DUPSORT), which is not "
        "read; write one without MDB_DUPSORT");
  }
  return Done{};
}

Status parse_branch(Bytes page, uint64_t number, const Bounds& bounds,
                    std::vector<uint64_t>& children) {
  Result<Nodes> nodes = parse_nodes(page, number, kBranch);
  if (!nodes) return std::move(nodes).error();
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const uint8_t* node = page.data() + nodes->at(i);
    const uint64_t child = low_half(node) | uint64_t{get<uint16_t>(node + 4)}
                                                << 32;
    if (Status inside = check_bounds(child, 1, number, bounds); !inside) {
      return inside;
    }
    children.push_back(child);
  }
  return Done{};
}

Status parse_leaf(Bytes page, uint64_t number, const Bounds& bounds,
                  std::vector<Record>& records) {
  Result<Nodes> nodes = parse_nodes(page, number, kLeaf);
  if (!nodes) return std::move(nodes).error();
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const uint32_t at = nodes->at(i);
    Result<RecordSpan> value = parse_value(page, number, at, bounds);
    if (!value) return std::move(value).error();
    const auto* key =
        reinterpret_cast<const char*>(page.data() + at + kNodeBytes);
    records.push_back({{key, get<uint16_t>(page.data() + at + 6)}, *value});
  }
  return Done{};
}

uint64_t overflow_pages(uint32_t value_bytes, uint32_t page_bytes) {
  return (uint64_t{value_bytes} + kPageHeaderBytes + page_bytes - 1) /
         page_bytes;
}

Status check_overflow(Bytes header, const RecordSpan& value,
                      uint32_t page_bytes) {
  const uint64_t number = value.offset / page_bytes;
  const uint64_t pages = overflow_pages(value.bytes, page_bytes);
  if (get<uint64_t>(header.data()) == number &&
      (get<uint16_t>(header.data() + 10) & kKinds) == kOverflow &&
      get<uint32_t>(header.data() + 12) == pages) {
    return Done{};
  }
  return damaged(number, "it does not begin a value of " +
                             std::to_string(value.bytes) + " bytes");
}

}  // namespace penstock::lmdb
