#include "loader/lmdb/verify.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/lmdb/sidecar.h"
#include "loader/lmdb/sidecar_file.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

bool always(uint64_t, uint64_t) { return true; }

std::string difference(std::string_view our_key, std::string_view our_value,
                       std::string_view key, std::string_view value) {
  Status same = compare_record(7, our_key, our_value, key, value);
  if (same) return "";
  CHECK(same.error().code == Code::kIo);
  return same.error().message;
}

}  // namespace

TEST_CASE("a valid database is verified, with and without its index") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  std::vector<size_t> sizes(500, 5000);
  sizes.resize(1000, 50);
  write_lmdb(file, sizes);
  auto verified = verify(file, always);
  REQUIRE(verified);
  CHECK(verified->records == 1000);
  CHECK(verified->value_bytes == size_t{500} * 5050);
  CHECK_FALSE(verified->has_index);
  CHECK(verified->index_refusal.empty());
  REQUIRE(write_sidecar(*Database::open(file, {})));
  verified = verify(file, always);
  REQUIRE(verified);
  CHECK(verified->has_index);
  write_file(sidecar_path(file), {1, 2, 3});
  verified = verify(file, always);
  REQUIRE(verified);
  CHECK_FALSE(verified->has_index);
  CHECK_THAT(verified->index_refusal, ContainsSubstring("another file"));
}

TEST_CASE("an empty database is verified") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), {});
  auto verified = verify(folder.path("a"), always);
  REQUIRE(verified);
  CHECK(verified->records == 0);
}

TEST_CASE("a difference is reported with its record and offset") {
  CHECK(difference("k", "v", "k", "v").empty());
  CHECK(difference("k", "v", "l", "v") ==
        "record 7: its key is \"k\", and liblmdb's is \"l\"");
  CHECK(difference("k", "v", "k", "") ==
        "record 7 \"k\": it has 1 bytes, and liblmdb's 0");
  CHECK(difference(std::string_view("\0\n\"", 3), "abcd", {"\0\n\"", 3},
                   "abed") ==
        R"(record 7 "\x00\x0a\x22": it differs from liblmdb's at byte 2)");
  CHECK(difference(std::string(511, 'k'), "", "", "") ==
        "record 7: its key is \"" + std::string(64, 'k') +
            "...\", and liblmdb's is \"\"");
}

TEST_CASE("an overflow page of another value is detected") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  write_lmdb(file, std::vector<size_t>(20, 10000));
  const RecordSpan value = Database::open(file, {})->index().at(5);
  patch_file(file, value.offset - 4, {2});
  auto verified = verify(file, always);
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == Code::kIo);
  CHECK_THAT(verified.error().message,
             ContainsSubstring(file + ": page ") &&
                 ContainsSubstring("does not begin a value of 10000 bytes"));
}

// One record of 20000, which a sample rarely checks.
TEST_CASE("a single wrong record or label of the index is detected") {
  const bool is_label = GENERATE(false, true);
  const TempFolder folder;
  const std::string file = folder.path("a");
  write_lmdb(file, std::vector<size_t>(20000, 100));
  auto database = Database::open(file, {});
  bool was_believed = false;
  for (uint64_t wrong = 10000; !was_believed; wrong += 100) {
    RecordIndexBuilder builder;
    for (uint64_t i = 0; i < 20000; ++i) {
      RecordSpan value = database->index().at(i);
      if (!is_label) value.bytes -= i == wrong ? 1 : 0;
      builder.add(value, is_label && i == wrong ? 7 : kUnlabelled);
    }
    write_file(sidecar_path(file), bytes_of(format_sidecar(database->snapshot(),
                                                           builder.finish())));
    was_believed = Database::open(file, {})->is_from_sidecar();
    if (!was_believed) continue;
    auto verified = verify(file, always);
    REQUIRE_FALSE(verified);
    CHECK(verified.error().code == Code::kIo);
    CHECK_THAT(verified.error().message,
               ContainsSubstring("record " + std::to_string(wrong) +
                                 (is_label ? ": the index has another label"
                                           : ": the index has it elsewhere")));
  }
}

TEST_CASE("verifying can be interrupted") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(100, 10));
  uint64_t last = 0;
  auto verified = verify(folder.path("a"), [&](uint64_t done, uint64_t all) {
    CHECK(all == 100);
    last = done;
    return done < 50;
  });
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == Code::kUnavailable);
  CHECK_THAT(verified.error().message, ContainsSubstring("interrupted"));
  CHECK(last == 50);
}

TEST_CASE("a write during the verification is reported") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  write_lmdb(file, std::vector<size_t>(100, 10));
  LmdbWriter writer(file);
  auto verified = verify(file, [&](uint64_t done, uint64_t) {
    for (int i = 0; done == 50 && i < 2; ++i) {
      writer.begin();
      writer.put("k", "v");
      writer.commit();
    }
    return true;
  });
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == Code::kUnavailable);
  CHECK_THAT(verified.error().message, ContainsSubstring("being written"));
}

TEST_CASE("a user without write permission can verify a database") {
  if (::geteuid() != 0) return;  // only root can change its user
  const TempFolder folder;
  const std::string file = folder.path("a");
  write_lmdb(file, std::vector<size_t>(100, 10));
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::unlink((file + "-lock").c_str()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_other = ::setuid(65534) == 0;
    ::_exit(is_other && verify(file, always) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}
