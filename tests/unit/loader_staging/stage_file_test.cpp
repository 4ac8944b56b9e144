#include "loader/staging/stage_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_staging/stage_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr StageShape kShape{3, 8192, 4, 6};

}  // namespace

TEST_CASE("jobs join one file, whose window is the first one's") {
  StageCase test;
  const auto one = test.join(kShape);
  const auto two = test.join({3, 8192, 7, 20});
  CHECK(two->shape().window == 4);
  CHECK(two->shape().buffers == 6);
  CHECK(one->member() != two->member());
  CHECK_FALSE(one->has_ended(two->member(), two->generation()));
  CHECK_FALSE(one->has_ended(one->member(), one->generation()));
  one->buffer(5)[8191] = 7;
  CHECK(two->buffer(5)[8191] == 7);
  const uint32_t number = two->member(), generation = two->generation();
  two->leave();
  CHECK(one->has_ended(number, generation));
  const auto three = test.join(kShape);
  CHECK(three->member() == number);
  CHECK(one->has_ended(number, generation));
}

TEST_CASE("a file is as large as its window, and has its index") {
  StageCase test;
  const auto file = test.join(kShape);
  struct stat found {};
  REQUIRE(::stat(test.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0600);
  CHECK(uint64_t(found.st_size) == stage_bytes(kShape));
  CHECK(uint64_t(found.st_blocks) * 512 ==
        stage_buffers_offset(kShape) + 4 * 8192);
  REQUIRE(file->allocate(5));
  REQUIRE(file->allocate(5));
  REQUIRE(::stat(test.path().c_str(), &found) == 0);
  CHECK(uint64_t(found.st_blocks) * 512 ==
        stage_buffers_offset(kShape) + 5 * 8192);
  for (uint32_t i = 0; i < 4; ++i) {
    const StageWord word = StageWord::of(file->slot(i).word);
    CHECK(word.state == StageWord::State::kUnused);
    CHECK(word.buffer == i);
  }
}

TEST_CASE("the last one removes file and folder") {
  StageCase test;
  auto one = test.join(kShape);
  auto two = test.join(kShape);
  one->leave();
  CHECK(std::filesystem::exists(test.path()));
  two->leave();
  CHECK_FALSE(std::filesystem::exists(test.path()));
  CHECK_FALSE(std::filesystem::exists(cache_folder_path(test.owner())));
  two->leave();  // once more does nothing
}

TEST_CASE("a forked process does not leave for its parent") {
  StageCase test;
  const auto file = test.join(kShape);
  CHECK(in_child([&] { file->leave(); }) == 0);
  CHECK(std::filesystem::exists(test.path()));
  CHECK_FALSE(file->has_ended(file->member(), file->generation()));
}

TEST_CASE("what other jobs prepare is named, and so is what was wanted") {
  StageCase test;
  const auto file = test.try_join({7, "cats, seed 1", kShape});
  REQUIRE(file);
  const auto other = test.try_join({8, "dogs, seed 2", kShape});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Code::kInvalidArgument);
  CHECK_THAT(other.error().message,
             ContainsSubstring(test.path()) &&
                 ContainsSubstring("share cats, seed 1") &&
                 ContainsSubstring("wants dogs, seed 2") &&
                 ContainsSubstring("another name"));
  CHECK(test.try_join({8, "dogs, seed 2", kShape}, "dogs"));
}

TEST_CASE("a file that killed jobs left is made anew, whatever it was for") {
  StageCase test;
  CHECK(in_child([&] {
          const auto file = test.try_join({8, "dogs", kShape});
          (*file)->header().put_out = 5;
          ::_exit(7);
        }) == 7);
  CHECK(std::filesystem::exists(test.path()));
  const auto file = test.join(kShape);
  CHECK(file->header().put_out == 0);
  CHECK(file->header().fingerprint == 7);
}

TEST_CASE("files that killed jobs left are removed, others stay") {
  StageCase test;
  CHECK(in_child([&] {
          (void)test.try_join({8, "dogs", kShape}, "dogs");
          ::_exit(7);
        }) == 7);
  const auto file = test.join(kShape);
  std::ofstream(cache_folder_path(test.owner()) + "/x.cache") << "x";
  sweep_shares(test.owner());
  CHECK_FALSE(std::filesystem::exists(test.path("dogs")));
  CHECK(std::filesystem::exists(test.path()));
  CHECK(std::filesystem::exists(cache_folder_path(test.owner()) + "/x.cache"));
}

TEST_CASE("names that are none are refused") {
  StageCase test;
  for (const char* name : {"", ".x", "a/b", "a b"}) {
    CAPTURE(name);
    const auto file = test.try_join({7, "seven", kShape}, name);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::kInvalidArgument);
    CHECK_THAT(file.error().message, ContainsSubstring("share name"));
  }
}

TEST_CASE("a damaged file that is in use is refused") {
  StageCase test;
  const auto file = test.join(kShape);
  const auto refused = [&](const char* why) {
    const auto other = test.try_join({7, "seven", kShape});
    REQUIRE_FALSE(other);
    CHECK(other.error().code == Code::kInvalidArgument);
    CHECK_THAT(other.error().message, ContainsSubstring(why));
  };
  file->header().shape.buffers = kMostBuffers + 1;
  refused("damaged");
  file->header().shape.buffers = 6;
  file->header().shape.window = 600;
  refused("damaged");
  file->header().shape.window = 4;
  file->header().shape.buffer_bytes = 4096;
  refused("damaged");
  file->header().shape.buffer_bytes = 8192;
  std::filesystem::resize_file(test.path(), stage_bytes(kShape) + 4096);
  refused("damaged");
  std::filesystem::resize_file(test.path(), stage_bytes(kShape));
  CHECK(test.try_join({7, "seven", kShape}));
  file->header().magic = 1;
  refused("no share of this version");
}

TEST_CASE(
    "a window that the tmpfs has no memory for is refused, with figures") {
  if (::geteuid() != 0) return;  // who may mount one
  StageCase test;
  const std::string small = test.base() + "/small";
  REQUIRE(::mkdir(small.c_str(), 0700) == 0);
  REQUIRE(::mount("penstock-test", small.c_str(), "tmpfs", 0, "size=1m") == 0);
  CacheOwner owner = test.owner();
  owner.base = small;
  {
    const auto file =
        StageFile::join(owner, "n", {7, "seven", {3, 1 << 20, 4, 6}});
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::kLimit);
    CHECK_THAT(file.error().message,
               ContainsSubstring("no memory in the tmpfs for 4 batches of "
                                 "1048576 bytes") &&
                   ContainsSubstring("smaller window"));
    // So are spare buffers, later.
    const auto fits =
        StageFile::join(owner, "n", {7, "seven", {3, 256 << 10, 3, 9}});
    REQUIRE(fits);
    const Status spare = (*fits)->allocate(8);
    REQUIRE_FALSE(spare);
    CHECK(spare.error().code == Code::kLimit);
    CHECK_THAT(spare.error().message,
               ContainsSubstring("1 batch of 262144 bytes"));
    (*fits)->leave();
  }
  ::umount(small.c_str());
}

TEST_CASE("another user's share cannot be joined") {
  if (::geteuid() != 0) return;  // who may become another
  StageCase test;
  const auto file = test.join(kShape);
  ::chmod(test.base().c_str(), 0755);
  CHECK(in_child([&] {
          if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
          // Where it is told whose folder, even.
          const auto other = test.try_join({7, "seven", kShape});
          ::_exit(!other && other.error().code == Code::kPermissionDenied ? 0
                                                                          : 2);
        }) == 0);
}
