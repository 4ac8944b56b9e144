#include "bench/slow_tier/inode_table.h"

#include "tests/unit/catch.h"

using penstock::InodeTable;
using penstock::SourceFile;

TEST_CASE("a file keeps its number until its last look-up is forgotten") {
  InodeTable table({".", 1, 2});
  const SourceFile file{"a", 1, 10};
  const uint64_t number = table.look_up(file);
  CHECK(number != InodeTable::kRoot);
  CHECK(table.look_up(file) == number);
  table.forget(number, 1);
  REQUIRE(table.find(number));
  CHECK(table.find(number)->path == "a");
  CHECK(table.find(number)->inode == 10);
  table.forget(number, 1);
  CHECK_FALSE(table.find(number));
  CHECK(table.look_up(file) != number);
}

TEST_CASE("a replacement at a file's path is another file") {
  InodeTable table({".", 1, 2});
  const uint64_t old = table.look_up({"a", 1, 10});
  CHECK(table.look_up({"a", 1, 11}) != old);
  CHECK(table.look_up({"b", 1, 10}) != old);
  CHECK(table.find(old)->inode == 10);
}

TEST_CASE("the root exists from the start and stays") {
  InodeTable table({".", 1, 2});
  REQUIRE(table.find(InodeTable::kRoot));
  table.forget(InodeTable::kRoot, 1000);
  CHECK(table.find(InodeTable::kRoot)->path == ".");
}

TEST_CASE("forgetting unknown numbers or too many look-ups is harmless") {
  InodeTable table({".", 1, 2});
  const uint64_t number = table.look_up({"a", 1, 10});
  table.forget(99, 1);
  table.forget(number, 99);
  CHECK_FALSE(table.find(number));
  CHECK(table.size() == 1);
}

TEST_CASE("a path is the directory's path and the name") {
  CHECK(SourceFile{"."}.path_of("x") == "x");
  CHECK(SourceFile{"a/b"}.path_of("..x") == "a/b/..x");
}
