// A cache file: created once, joined by many processes, removed by the last.
#include "loader/cache/cache_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <thread>

#include "loader/cache/cache_list.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const CachedData kData{.fingerprint = 7, .samples = 100, .path = "/data"};

struct FileCase : CacheCase {
  CacheOwner owner{.base = base(), .user = ::geteuid(), .group = {}};
  std::string path = cache_folder_path(owner) + "/n.cache";

  Result<std::unique_ptr<CacheFile>> try_join(const CachedData& data) const {
    return CacheFile::join(owner, "n", data);
  }
  std::unique_ptr<CacheFile> join(const CachedData& data = kData) const {
    auto file = try_join(data);
    if (!file) FAIL(file.error().message);
    return *std::move(file);
  }
  void check_refused(const std::string& why) const {
    auto file = try_join(kData);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::kInvalidArgument);
    CHECK_THAT(file.error().message,
               ContainsSubstring(path) && ContainsSubstring(why) &&
                   ContainsSubstring("penstock cache drop"));
  }
  bool is_there() const { return std::filesystem::exists(path); }
};

// Leaves the cache like a finished job.
void leave(std::unique_ptr<CacheFile> file) { file->leave(); }

void put_number(const std::string& path, size_t offset, uint64_t value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY));
  REQUIRE(::pwrite(fd.get(), &value, sizeof value, off_t(offset)) ==
          ssize_t(sizeof value));
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

TEST_CASE("a new cache is empty, names its data, and belongs to the user") {
  const FileCase test;
  const auto file = test.join();
  const CacheHeader& header = file->header();
  CHECK(file->path() == test.path);
  CHECK(header.fingerprint == 7);
  CHECK(header.samples == 100);
  CHECK(header.data_set == std::string("/data"));
  CHECK(header.ready_samples == 0);
  CHECK(header.end_offset == header.data_offset);
  CHECK(header.created_s + 60 > static_cast<uint64_t>(::time(nullptr)));
  for (uint64_t i = 0; i < 100; ++i) CHECK(file->slot(i).word == 0);
  struct stat status {};
  REQUIRE(::fstat(file->fd(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  // All mapped memory is allocated from the start.
  CHECK(uint64_t(status.st_blocks) * 512 >= header.data_offset);
}

TEST_CASE("a long path of the data set is truncated") {
  const FileCase test;
  CachedData data = kData;
  data.path.assign(5000, 'x');
  CHECK(std::string(test.join(data)->header().data_set).size() ==
        sizeof(CacheHeader::data_set) - 1);
}

TEST_CASE("a group's cache is accessible to its members under any umask") {
  FileCase test;
  test.owner.group = ::getegid();
  ::umask(0077);
  const auto file = test.join();
  ::umask(0022);
  struct stat status {};
  REQUIRE(::fstat(file->fd(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0660);
  CHECK(status.st_gid == ::getegid());
}

TEST_CASE("a member of the group uses another member's cache") {
  if (::geteuid() != 0) return;  // only root can change its user
  constexpr uid_t kOther = 54321;
  FileCase test;
  std::filesystem::permissions(test.base(), std::filesystem::perms::all);
  test.owner.group = kOther;
  const auto as_user = [&](uid_t user, const std::function<bool()>& what) {
    return in_child([&] {
      if (::setgid(kOther) != 0 || ::setuid(user) != 0) ::_exit(1);
      if (!what()) ::_exit(2);
    });
  };
  CachedData kept = kData;
  kept.keep_s = 100;
  CHECK(as_user(kOther, [&] {
          const auto file = test.join(kept);
          file->slot(3).word = 5;
          file->leave();
          return test.owner.group.has_value();
        }) == 0);
  CHECK(as_user(kOther + 1, [&] {
          const auto file = test.join(kData);
          const bool is_same = file->slot(3).word == 5;
          file->header().keep_s = 0;
          file->leave();
          return is_same;
        }) == 0);
  CHECK_FALSE(
      std::filesystem::exists(cache_folder_path(test.owner) + "/n.cache"));
}

TEST_CASE("processes that join at the same time share one cache") {
  const FileCase test;
  for (int round = 0; round < 20; ++round) {
    const auto join_and_count = [&] {
      ++test.join()->header().hits;  // ends without leave()
    };
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 12; ++i) {
      children.push_back(std::make_unique<Child>(
          [&](const auto& /*done*/) { join_and_count(); }));
    }
    for (const auto& child : children) REQUIRE(child->wait() == 0);
    const auto file = test.join();
    REQUIRE(file->header().hits == 12);
    REQUIRE(drop_cache(test.owner, "n"));
  }
}

TEST_CASE("processes that join and leave never get a removed cache") {
  const FileCase test;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(std::make_unique<Child>([&](const auto& /*done*/) {
      for (int round = 0; round < 200; ++round) {
        auto file = test.join();
        struct stat opened {};
        if (::fstat(file->fd(), &opened) != 0) ::_exit(1);
        if (opened.st_ino != inode_of(test.path)) ::_exit(2);
        leave(std::move(file));
      }
    }));
  }
  for (const auto& child : children) CHECK(child->wait() == 0);
  // Two processes that leave at once may each count the other as a member.
  if (test.is_there()) leave(test.join());
  CHECK_FALSE(test.is_there());
}

TEST_CASE("a cache is kept for the longest time of any process") {
  const FileCase test;
  for (const uint64_t keep_s : {10U, 50U, 20U}) {
    CachedData data = kData;
    data.keep_s = keep_s;
    leave(test.join(data));
  }
  CHECK(test.join()->header().keep_s == 50);
}

TEST_CASE("the last process to leave removes a cache with no keep time") {
  const FileCase test;
  auto first = test.join();
  auto second = test.join();
  leave(std::move(first));
  CHECK(test.is_there());
  leave(std::move(second));
  CHECK_FALSE(test.is_there());
}

TEST_CASE("the last process to leave keeps a cache with a keep time") {
  const FileCase test;
  CachedData data = kData;
  data.keep_s = 5;
  leave(test.join(data));
  CHECK(test.is_there());
}

TEST_CASE("a forked process does not remove the cache of its parent") {
  const FileCase test;
  auto file = test.join();
  CHECK(in_child([&] { leave(std::move(file)); }) == 0);
  CHECK(test.is_there());
  leave(std::move(file));
  CHECK_FALSE(test.is_there());
}

TEST_CASE("a dropped name belongs to the next cache, not to its former users") {
  const FileCase test;
  auto old = test.join();
  REQUIRE(drop_cache(test.owner, "n"));
  CHECK_FALSE(test.is_there());
  auto next = test.join();
  const ino_t inode = inode_of(test.path);
  leave(std::move(old));
  CHECK(inode_of(test.path) == inode);
  leave(std::move(next));
  CHECK_FALSE(test.is_there());
}

TEST_CASE("a process that joins during a removal gets a new cache") {
  const FileCase test;
  auto old = test.join();
  const ino_t inode = inode_of(test.path);
  leave(std::move(old));  // it was the only member
  {
    const auto made = test.join();
    CHECK(inode_of(test.path) != inode);
  }
  // Held for longer than join() waits.
  const UniqueFd shut(::open(test.path.c_str(), O_RDWR));
  REQUIRE(shut_out_cache_members(shut.get()));
  auto file = test.try_join(kData);
  REQUIRE_FALSE(file);
  CHECK(file.error().code == Code::kUnavailable);
  std::unique_ptr<CacheFile> late;
  std::thread joiner([&] { late = test.join(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(::unlink(test.path.c_str()) == 0);
  joiner.join();
  CHECK(late->header().hits == 0);
  CHECK(test.is_there());
}

TEST_CASE("a cache of other data is refused with both paths") {
  const FileCase test;
  const auto file = test.join();
  for (const CachedData& other :
       {CachedData{.fingerprint = 8, .samples = 100, .path = "/other"},
        CachedData{.fingerprint = 7, .samples = 99, .path = "/other"}}) {
    auto refused = test.try_join(other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kInvalidArgument);
    CHECK_THAT(refused.error().message,
               ContainsSubstring("100 samples of /data") &&
                   ContainsSubstring("of /other") &&
                   ContainsSubstring("Use another name"));
  }
}

TEST_CASE("other files and damaged caches are refused") {
  const FileCase test;
  { const auto file = test.join(); }
  const auto bytes = off_t(cache_data_offset(100));
  SECTION("empty") {
    REQUIRE(::truncate(test.path.c_str(), 0) == 0);
    test.check_refused("no cache of this version");
  }
  SECTION("truncated in its header") {
    REQUIRE(::truncate(test.path.c_str(), 100) == 0);
    test.check_refused("no cache of this version");
  }
  SECTION("truncated in its index") {
    REQUIRE(::truncate(test.path.c_str(), bytes - 1) == 0);
    test.check_refused("damaged");
  }
  SECTION("of another version") {
    put_number(test.path, offsetof(CacheHeader, magic), kCacheMagic + 1);
    test.check_refused("no cache of this version");
  }
  SECTION("with samples in its index") {
    put_number(test.path, offsetof(CacheHeader, data_offset), 4096);
    test.check_refused("damaged");
    put_number(test.path, offsetof(CacheHeader, data_offset), uint64_t(bytes));
    put_number(test.path, offsetof(CacheHeader, end_offset), 4096);
    test.check_refused("damaged");
  }
  SECTION("with an end beyond the offsets of a slot") {
    for (const uint64_t end : {uint64_t{1} << 46, UINT64_MAX - 4096}) {
      put_number(test.path, offsetof(CacheHeader, end_offset), end);
      test.check_refused("damaged");
    }
  }
  SECTION("with an unaligned end") {
    put_number(test.path, offsetof(CacheHeader, end_offset),
               uint64_t(bytes) + 1);
    test.check_refused("damaged");
  }
}

TEST_CASE("irregular files are refused without waiting") {
  const FileCase test;
  REQUIRE(open_cache_folder(test.owner));
  REQUIRE(::mkfifo(test.path.c_str(), 0600) == 0);
  test.check_refused("no cache of this version");
  REQUIRE(::unlink(test.path.c_str()) == 0);
  REQUIRE(::mkdir(test.path.c_str(), 0700) == 0);
  auto folder = test.try_join(kData);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Code::kIo);
  REQUIRE(::rmdir(test.path.c_str()) == 0);
  // No link leads out of the folder.
  REQUIRE(::symlink("/etc/passwd", test.path.c_str()) == 0);
  auto link = test.try_join(kData);
  REQUIRE_FALSE(link);
  CHECK(link.error().code == Code::kIo);
  CHECK_THAT(link.error().message, ContainsSubstring(test.path));
}

TEST_CASE("an index too large for the tmpfs is refused and removed") {
  if (::geteuid() != 0) return;  // only root can mount
  FileCase test;
  test.owner.base = test.base() + "/small";
  std::filesystem::create_directory(test.owner.base);
  REQUIRE(::mount("penstock-test", test.owner.base.c_str(), "tmpfs", 0,
                  "size=1m") == 0);
  CachedData large = kData;
  large.samples = 1'000'000;
  auto file = test.try_join(large);
  CHECK_FALSE(
      std::filesystem::exists(cache_folder_path(test.owner) + "/n.cache"));
  ::umount(test.owner.base.c_str());
  REQUIRE_FALSE(file);
  CHECK(file.error().code == Code::kLimit);
  CHECK_THAT(file.error().message, ContainsSubstring("no memory in the tmpfs"));
}
