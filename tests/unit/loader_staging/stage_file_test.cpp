#include "loader/staging/stage_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_staging/stage_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr StageShape kShape{3, 8192, 4, 6};

}  // namespace

TEST_CASE("jobs join one file, with the window of the first job") {
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

TEST_CASE("a file has the size of its window and its index allocated") {
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

TEST_CASE("the last job to leave removes file and folder") {
  StageCase test;
  auto one = test.join(kShape);
  auto two = test.join(kShape);
  one->leave();
  CHECK(std::filesystem::exists(test.path()));
  two->leave();
  CHECK_FALSE(std::filesystem::exists(test.path()));
  CHECK_FALSE(std::filesystem::exists(cache_folder_path(test.owner())));
  two->leave();  // a second call has no effect
}

TEST_CASE("a forked process does not leave in place of its parent") {
  StageCase test;
  const auto file = test.join(kShape);
  CHECK(in_child([&] { file->leave(); }) == 0);
  CHECK(std::filesystem::exists(test.path()));
  CHECK_FALSE(file->has_ended(file->member(), file->generation()));
}

TEST_CASE("a refusal names the share's data and the requested data") {
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

TEST_CASE("a file left by killed jobs is recreated, whatever its data") {
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

TEST_CASE("files left by killed jobs are removed, others stay") {
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

TEST_CASE("invalid names are refused") {
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
  file->header().maker = kMembers;
  refused("damaged");
  file->header().maker = file->member();
  CHECK(test.try_join({7, "seven", kShape}));
  file->header().magic = kStageMagic + (uint64_t{1} << 56);
  refused("another version");
}

TEST_CASE("a window too large for the tmpfs is refused with figures") {
  if (::geteuid() != 0) return;  // only root can mount
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
    // Spare buffers are refused later, too.
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

TEST_CASE("a window too large for mapping is refused") {
  StageCase test;
  const auto file = test.try_join({7, "seven", {3, uint64_t{1} << 45, 4, 6}});
  REQUIRE_FALSE(file);
  CHECK(file.error().code == Code::kLimit);
  CHECK_THAT(file.error().message, ContainsSubstring("may map") &&
                                       ContainsSubstring("reduce the window"));
  CHECK_FALSE(std::filesystem::exists(test.path()));
}

TEST_CASE("a link, a folder or another user's file is refused as a share") {
  StageCase test;
  const auto file = test.join(kShape, "real");
  const auto refused = [&](const char* why) {
    const auto other = test.try_join({7, "seven", kShape});
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().message,
               ContainsSubstring(test.path()) && ContainsSubstring(why) &&
                   ContainsSubstring("remove it, or use another name"));
  };
  std::filesystem::create_symlink(test.path("real"), test.path());
  refused("is a link");
  std::filesystem::remove(test.path());
  std::filesystem::create_directory(test.path());
  refused("is a folder");
  std::filesystem::remove(test.path());
  REQUIRE(::mkfifo(test.path().c_str(), 0600) == 0);
  refused("is a pipe, socket or device");
  CHECK(std::filesystem::exists(test.path()));
  std::filesystem::remove(test.path());
  std::ofstream(test.path()) << "notes of my search";
  refused("was not made by Penstock");
  CHECK(std::filesystem::exists(test.path()));
}

namespace {

// Whether joining as user 65534 is refused with that text.
bool is_refused_to_nobody(const CacheOwner& owner, const std::string& text) {
  return in_child([&] {
           if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
           const auto file = StageFile::join(owner, "n", {7, "seven", kShape});
           if (file) ::_exit(2);
           const Error& error = file.error();
           const bool is_told = error.code == Code::kPermissionDenied &&
                                error.message.find(text) != std::string::npos;
           if (!is_told) std::cerr << error.message << "\n";
           ::_exit(is_told ? 0 : 3);
         }) == 0;
}

}  // namespace

TEST_CASE("another user's share, folder or file cannot be joined") {
  if (::geteuid() != 0) return;  // only root can change its user
  StageCase test;
  const auto file = test.join(kShape);
  ::chmod(test.base().c_str(), 0755);
  const CacheOwner owner = test.owner();
  // It is given the owner's folder.
  CHECK(is_refused_to_nobody(owner, "belongs to user 0, group 0"));
  // The owner's folder has the name of its own.
  CacheOwner own = owner;
  own.user = 65534;
  const std::string path = cache_folder_path(own);
  std::filesystem::create_directory(path);
  CHECK(is_refused_to_nobody(own, path + ": belongs to user 0"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(cache_folder_path(owner), path);
  CHECK(is_refused_to_nobody(own, path + ": belongs to user 0"));
  std::filesystem::remove(path);
  // The folder is its own, the file is not.
  std::filesystem::rename(cache_folder_path(owner), path);
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(is_refused_to_nobody(own, path + "/n.stage: belongs to user 0, and "
                                         "cannot be shared with; remove it, or "
                                         "use another name"));
}

TEST_CASE("two users' shares of the same name are separate") {
  if (::geteuid() != 0) return;  // only root can change its user
  StageCase test;
  const auto file = test.try_join({8, "eight", kShape});
  REQUIRE(file);
  ::chmod(test.base().c_str(), 01777);
  CHECK(in_child([&] {
          if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
          const auto other = test.try_join({7, "seven", kShape});
          if (!other) std::cerr << other.error().message << "\n";
          if (!other || (*other)->path() == (*file)->path()) ::_exit(2);
          if ((*other)->key() == (*file)->key()) ::_exit(3);
          (*other)->leave();
        }) == 0);
  CHECK(std::filesystem::exists((*file)->path()));
}
