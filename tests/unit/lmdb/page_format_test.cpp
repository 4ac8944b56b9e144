// Files that are not LMDB databases, unsupported databases and damaged ones.
#include "loader/lmdb/page_format.h"

#include <fcntl.h>
#include <unistd.h>

#include "loader/lmdb/page_source.h"
#include "loader/lmdb/tree_walk.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kPage = 4096;

uint64_t number_at(const std::vector<uint8_t>& bytes, uint64_t offset) {
  return bytes[offset] + (uint64_t{bytes[offset + 1]} << 8);
}

// A database with a branch page, leaf pages and overflow pages.
struct Sample {
  TempFolder folder;
  std::string file = folder.path("a.lmdb");

  Sample() {
    std::vector<size_t> sizes(200, 300);
    sizes[7] = 10000;
    write_lmdb(file, sizes, 100);  // both meta pages have a tree
  }
  // Overwrites bytes of both meta pages.
  void patch_metas(uint64_t offset, const std::vector<uint8_t>& bytes) const {
    patch_file(file, offset, bytes);
    patch_file(file, kPage + offset, bytes);
  }
  uint64_t root() const {
    return lmdb::Database::open(file, {})->snapshot().meta.main.root;
  }
  uint64_t first_leaf() const {
    const auto bytes = file_bytes(file);
    const uint64_t branch = root() * kPage;
    return bytes[branch + number_at(bytes, branch + 16)];
  }
  Error error() const {
    auto database = lmdb::Database::open(file, {});
    REQUIRE_FALSE(database);
    CHECK_THAT(database.error().message, ContainsSubstring(file + ": "));
    return database.error();
  }
};

// Ends an endless walk.
class FewPages : public lmdb::FilePages {
 public:
  explicit FewPages(int fd) : FilePages(fd, lmdb::PageBatch()) {}
  Status read(std::span<const lmdb::PageRange> ranges) override {
    for (const lmdb::PageRange& range : ranges) bytes_ += range.into.size();
    if (bytes_ > 64 << 20) return Error{Code::kLimit, 0, "reads without end"};
    return FilePages::read(ranges);
  }

 private:
  uint64_t bytes_ = 0;
};

void check(const Error& error, Code code, const std::string& text) {
  CHECK(error.code == code);
  CHECK_THAT(error.message, ContainsSubstring(text));
}

}  // namespace

TEST_CASE("a file that is not a database is refused") {
  const TempFolder folder;
  write_file(folder.path("empty"), {});
  write_file(folder.path("text"), std::vector<uint8_t>(8192, 'x'));
  auto empty = lmdb::Database::open(folder.path("empty"), {});
  REQUIRE_FALSE(empty);
  check(empty.error(), Code::kInvalidArgument, "no LMDB database: 0 bytes");
  auto text = lmdb::Database::open(folder.path("text"), {});
  REQUIRE_FALSE(text);
  check(text.error(), Code::kInvalidArgument, "lacks LMDB's magic number");
}

TEST_CASE(
    "databases of other machines and versions are refused with a remedy") {
  const Sample sample;
  std::vector<uint8_t> first(kPage);
  const auto set = [&](size_t at, std::vector<uint8_t> magic) {
    first.assign(kPage, 0);
    std::copy(magic.begin(), magic.end(),
              first.begin() + static_cast<ptrdiff_t>(at));
    patch_file(sample.file, 0, first);
  };
  set(16, {0xBE, 0xEF, 0xC0, 0xDE});
  check(sample.error(), Code::kInvalidArgument, "big-endian machine");
  set(12, {0xBE, 0xEF, 0xC0, 0xDE});
  check(sample.error(), Code::kInvalidArgument, "big-endian machine");
  set(12, {0xDE, 0xC0, 0xEF, 0xBE});
  check(sample.error(), Code::kInvalidArgument,
        "32-bit machine; allowed: 64-bit; on that machine run mdb_dump");
  set(16, {0xDE, 0xC0, 0xEF, 0xBE, 2});
  check(sample.error(), Code::kInvalidArgument, "of format 2; allowed: 1");
}

TEST_CASE("a damaged meta page is detected") {
  const struct {
    uint64_t offset;
    std::vector<uint8_t> bytes;
    const char* text;
  } kCases[] = {
      {10, {2, 0}, "its flags"},
      {40, {1, 16, 0, 0}, "pages of 4097 bytes; allowed: a power of two"},
      {40, {0, 1, 0, 0}, "pages of 256 bytes"},
      {40, {0, 0, 1, 0}, "pages of 65536 bytes"},
      {94, {0, 0}, "depth 0 with"},
      {94, {33, 0}, "depth 33 with"},
      {128, {1, 0, 0, 0, 0, 0, 0, 0}, "its root is page 1 of"},
      {128, {255, 255, 0, 0, 0, 0, 0, 0}, "its root is page 65535 of"},
      {136, {0, 0, 0, 0, 0, 0, 1, 0}, "its last page is"},
  };
  for (const auto& it : kCases) {
    const Sample sample;
    patch_file(sample.file, it.offset, it.bytes);
    check(sample.error(), Code::kIo, it.text);
  }
  const Sample sample;
  patch_file(sample.file, kPage + 16, {0});
  check(sample.error(), Code::kIo, "second meta page is damaged");
  patch_file(sample.file, kPage + 16, {0xDE});
  patch_file(sample.file, kPage + 40, {0, 32});
  check(sample.error(), Code::kIo, "two page sizes");
}

TEST_CASE("duplicate keys and sub-databases are refused") {
  const TempFolder folder;
  const std::string dup = folder.path("dup"), sub = folder.path("sub");
  {
    LmdbWriter writer(dup, MDB_DUPSORT);
    writer.begin();
    writer.put("k", "1");
    writer.put("k", "2");
    writer.commit();
    LmdbWriter named(sub, 0, "train");
    named.begin();
    named.put("k", "1");
    named.commit();
  }
  auto database = lmdb::Database::open(dup, {});
  REQUIRE_FALSE(database);
  check(database.error(), Code::kInvalidArgument,
        "write one without MDB_DUPSORT");
  database = lmdb::Database::open(sub, {});
  REQUIRE_FALSE(database);
  check(database.error(), Code::kInvalidArgument,
        "sub-databases, which are not read; copy one into a database of its "
        "own: mdb_dump -s NAME DB");
}

TEST_CASE(
    "a file truncated anywhere is refused unless only free pages are missing") {
  const Sample sample;
  const auto whole = file_bytes(sample.file);
  const auto records = records_by_liblmdb(sample.file);
  int cut = 0;
  for (size_t bytes = 2 * kPage; bytes < whole.size(); bytes += 1000) {
    REQUIRE(::truncate(sample.file.c_str(), static_cast<off_t>(bytes)) == 0);
    auto walked = records_by_walk(sample.file);
    if (walked) {
      // Only free pages are missing.
      CHECK(*walked == records);
    } else {
      ++cut;
      CHECK(walked.error().code == Code::kIo);
      CHECK_THAT(walked.error().message, ContainsSubstring("truncated"));
    }
    write_file(sample.file, whole);
  }
  CHECK(cut > 10);
}

TEST_CASE("the error for a damaged page names it") {
  constexpr uint8_t kBranch = 1, kLeaf = 2;
  const struct {
    uint8_t kind;
    uint64_t offset;
    std::vector<uint8_t> bytes;
    const char* text;
  } kCases[] = {
      {kBranch, 0, {255}, "it says that it is page 255 with flags 1"},
      {kBranch, 10, {2}, "no branch page"},
      {kBranch, 12, {16, 0}, "its free space is from byte 16"},
      {kBranch, 12, {17, 0}, "its free space is from byte 17"},
      {kBranch, 14, {1, 0}, "to 1"},
      {kBranch, 14, {1, 16}, "to 4097"},
      {kBranch, 16, {1, 0}, "node 0 is at byte 1"},
      {kBranch, 16, {255, 15}, "node 0 is at byte 4095"},
      {kLeaf, 0, {0}, "it says that it is page 0"},
      {kLeaf, 10, {0x22}, "with flags 34, no leaf page"},
      {kLeaf, 18, {252, 15}, "node 1 is at byte 4092"},
  };
  for (const auto& it : kCases) {
    const Sample sample;
    const uint64_t page =
        it.kind == kBranch ? sample.root() : sample.first_leaf();
    patch_file(sample.file, page * kPage + it.offset, it.bytes);
    check(sample.error(), Code::kIo,
          "page " + std::to_string(page) + " is damaged: ");
    check(sample.error(), Code::kIo, it.text);
  }
}

TEST_CASE("a damaged node is detected") {
  const Sample sample;
  const auto whole = file_bytes(sample.file);
  const uint64_t leaf = sample.first_leaf() * kPage;
  const uint64_t node = leaf + number_at(whole, leaf + 16);
  patch_file(sample.file, node, {255, 255, 1, 0});
  check(sample.error(), Code::kIo, "a value of 131071 bytes");
  patch_file(sample.file, node, {44, 1, 0, 0, 8});
  check(sample.error(), Code::kIo, "a node has flags 8");
  patch_file(sample.file, node, {44, 1, 0, 0, 0, 0, 255, 255});
  check(sample.error(), Code::kIo, "node 0 is at byte");
  write_file(sample.file, whole);
  const uint64_t branch = sample.root() * kPage;
  const uint64_t child = branch + number_at(whole, branch + 16);
  patch_file(sample.file, child, {0, 0, 1, 0});
  check(sample.error(), Code::kIo, "it refers to page 65536");
  patch_file(sample.file, child, {1, 0, 0, 0});
  check(sample.error(), Code::kIo, "it refers to page 1,");
}

TEST_CASE("cycles of pages and missing leaves are errors") {
  const Sample sample;
  const auto whole = file_bytes(sample.file);
  const uint64_t root = sample.root();
  const uint64_t branch = root * kPage;
  const uint64_t child = branch + number_at(whole, branch + 16);
  // Another leaf in its place.
  patch_file(sample.file, child, {static_cast<uint8_t>(whole[child] + 1)});
  auto walked = records_by_walk(sample.file);
  REQUIRE_FALSE(walked);
  CHECK(walked.error().code == Code::kIo);
  write_file(sample.file, whole);
  // All children are the root itself, in a tree with a large depth.
  sample.patch_metas(94, {32, 0});
  const uint64_t nodes = (number_at(whole, branch + 12) - 16) / 2;
  for (uint64_t i = 0; i < nodes; ++i) {
    const uint64_t at = branch + number_at(whole, branch + 16 + 2 * i);
    patch_file(sample.file, at, {static_cast<uint8_t>(root), 0, 0, 0, 0, 0});
  }
  check(sample.error(), Code::kIo, "more pages than it has");
  // A last page far beyond the file's end changes nothing.
  sample.patch_metas(136, {0, 0, 0, 0, 0, 64, 0, 0});
  const UniqueFd fd(::open(sample.file.c_str(), O_RDONLY | O_CLOEXEC));
  FewPages pages(fd.get());
  const auto leaves = lmdb::find_leaves(pages, *lmdb::take_snapshot(fd.get()));
  REQUIRE_FALSE(leaves);
  check(leaves.error(), Code::kIo, "more pages than it has");
}

TEST_CASE("records beyond the database's count are refused") {
  const Sample sample;
  sample.patch_metas(120, {50});
  const UniqueFd fd(::open(sample.file.c_str(), O_RDONLY | O_CLOEXEC));
  const auto snapshot = lmdb::take_snapshot(fd.get());
  REQUIRE(snapshot);
  REQUIRE(snapshot->meta.main.records == 50);
  FewPages pages(fd.get());
  uint64_t taken = 0;
  Status walked =
      lmdb::walk_tree(pages, *snapshot, [&](const lmdb::Record&) { ++taken; });
  REQUIRE_FALSE(walked);
  check(walked.error(), Code::kIo, "its pages have more records");
  CHECK(taken <= 50);
}

TEST_CASE("an overflow page's header must match its leaf") {
  const Sample sample;
  const auto whole = file_bytes(sample.file);
  auto database = lmdb::Database::open(sample.file, {});
  REQUIRE(database);
  lmdb::RecordSpan value = database->index().at(7);
  REQUIRE(lmdb::is_overflow(value, kPage));
  const lmdb::Bytes header(whole.data() + value.offset - 16, 16);
  CHECK(lmdb::check_overflow(header, value, kPage));
  value.bytes += kPage;
  Status longer = lmdb::check_overflow(header, value, kPage);
  REQUIRE_FALSE(longer);
  check(longer.error(), Code::kIo, "does not begin a value of 14096 bytes");
}
