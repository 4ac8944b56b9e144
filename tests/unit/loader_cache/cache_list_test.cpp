// The caches on a node: their contents and their removal.
#include "loader/cache/cache_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "loader/cache/cache_file.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMany = 100'000'000;

struct ListCase : CacheCase {
  CacheOwner owner{.base = base(), .user = ::geteuid(), .group = {}};
  std::string folder = cache_folder_path(owner);

  std::string path(const std::string& name) const {
    return folder + "/" + name;
  }
  bool has(const std::string& file) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(file)));
  }
  std::vector<CacheFacts> list() const {
    auto caches = list_caches(owner);
    if (!caches) FAIL(caches.error().message);
    return *caches;
  }
  // A cache that has been unused for some seconds.
  void leave_cache(const std::string& name, uint64_t keep_s,
                   uint64_t unused_s) const {
    REQUIRE(in_child([&] {
              auto file = CacheFile::join(owner, name, {7, 10, "/d", keep_s});
              if (!file) ::_exit(1);
            }) == 0);
    set_unused(name, unused_s);
  }
  void set_unused(const std::string& name, uint64_t unused_s) const {
    const timespec then{::time(nullptr) - time_t(unused_s), 0};
    const timespec times[] = {then, then};
    REQUIRE(::utimensat(AT_FDCWD, path(name + ".cache").c_str(), times, 0) ==
            0);
  }
};

}  // namespace

TEST_CASE("a missing folder has no caches and is not created") {
  const ListCase test;
  CHECK(test.list().empty());
  sweep_caches(test.owner);
  CHECK_FALSE(std::filesystem::exists(test.folder));
}

TEST_CASE("the list reports a cache's contents and hits") {
  ListCase test;
  const auto before_s = static_cast<uint64_t>(::time(nullptr));
  const auto cache =
      test.open(10, {.name = "b", .most_bytes = kMany, .keep_s = 30});
  const auto other = test.open(20, {.name = "a", .most_bytes = kMany});
  for (uint64_t i = 0; i < 4; ++i) cache->store(i, sample_bytes(i), 1);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 3; ++i) {
    REQUIRE(sample_in(*cache, i));
    bytes += sample_bytes(i).size();
  }
  const auto caches = test.list();
  REQUIRE(caches.size() == 2);
  CHECK(caches[0].name == "a");
  CHECK(caches[0].samples == 20);
  CHECK(caches[0].keep_s == 0);
  const CacheFacts& facts = caches[1];
  CHECK(facts.name == "b");
  CHECK(facts.path == test.path("b.cache"));
  CHECK(facts.data_set == "/data");
  CHECK(facts.samples == 10);
  CHECK(facts.ready_samples == 4);
  CHECK(facts.ready_bytes == bytes + sample_bytes(3).size() + 4 * 8);
  CHECK(facts.memory_bytes >= facts.ready_bytes);
  CHECK(facts.hits == 3);
  CHECK(facts.hit_bytes == bytes);
  CHECK(facts.misses == 4);
  CHECK(facts.damaged == 0);
  CHECK(facts.dropped == 0);
  CHECK(facts.created_s >= before_s);
  CHECK(facts.used_s >= before_s);
  CHECK(facts.keep_s == 30);
  CHECK(facts.processes == 1);
}

TEST_CASE("the list counts the processes that use a cache") {
  const ListCase test;
  const auto join = and_wait([&] {
    auto file = CacheFile::join(test.owner, "n", {7, 10, "/d", 9});
    if (!file) ::_exit(1);
    file->release();
  });
  Child first(join), second(join);
  REQUIRE(first.wait_until_done());
  REQUIRE(second.wait_until_done());
  CHECK(test.list().at(0).processes == 2);
  second.kill();
  CHECK(test.list().at(0).processes == 1);
  first.kill();
  CHECK(test.list().at(0).processes == 0);
}

TEST_CASE("a folder that others can access is not listed") {
  const ListCase test;
  REQUIRE(::mkdir(test.folder.c_str(), 0777) == 0);
  REQUIRE(::chmod(test.folder.c_str(), 0777) == 0);
  auto caches = list_caches(test.owner);
  REQUIRE_FALSE(caches);
  CHECK(caches.error().code == Code::kPermissionDenied);
  Status dropped = drop_cache(test.owner, "n");
  REQUIRE_FALSE(dropped);
  CHECK(dropped.error().code == Code::kPermissionDenied);
}

TEST_CASE("a base that is not a tmpfs is not listed") {
  ListCase test;
  test.owner.base = "/tmp";
  std::filesystem::create_directory(cache_folder_path(test.owner));
  auto caches = list_caches(test.owner);
  std::filesystem::remove(cache_folder_path(test.owner));
  REQUIRE_FALSE(caches);
  CHECK(caches.error().code == Code::kInvalidArgument);
}

TEST_CASE("a dropped cache has no name and still serves its users") {
  ListCase test;
  const auto cache = test.open(10, {.name = "n", .most_bytes = kMany});
  cache->store(1, sample_bytes(1), 1);
  REQUIRE(drop_cache(test.owner, "n"));
  CHECK(test.list().empty());
  CHECK(sample_in(*cache, 1) == sample_bytes(1));
  cache->store(2, sample_bytes(2), 1);
  CHECK(sample_in(*cache, 2) == sample_bytes(2));
  const auto next = test.open(10, {.name = "n", .most_bytes = kMany});
  CHECK_FALSE(next->find(1));
}

TEST_CASE("a cache that cannot be dropped is an error with its name") {
  const ListCase test;
  const auto check_not_found = [&] {
    Status dropped = drop_cache(test.owner, "n");
    REQUIRE_FALSE(dropped);
    CHECK(dropped.error().code == Code::kNotFound);
    CHECK_THAT(dropped.error().message,
               ContainsSubstring(test.path("n.cache")));
  };
  check_not_found();  // no folder
  REQUIRE(open_cache_folder(test.owner));
  check_not_found();
  Status outside = drop_cache(test.owner, "../n");
  REQUIRE_FALSE(outside);
  CHECK(outside.error().code == Code::kInvalidArgument);
  std::filesystem::create_directory(test.path("n.cache"));
  Status folder = drop_cache(test.owner, "n");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Code::kIo);
  CHECK_THAT(folder.error().message, ContainsSubstring("is a folder"));
}

TEST_CASE("a damaged cache or one of another version can be dropped") {
  const ListCase test;
  REQUIRE(open_cache_folder(test.owner));
  std::ofstream(test.path("n.cache")) << "nothing";
  CHECK(drop_cache(test.owner, "n"));
  CHECK_FALSE(test.has("n.cache"));
}

TEST_CASE("a sweep removes caches unused for their keep time") {
  const ListCase test;
  test.leave_cache("at-once", 0, 0);
  test.leave_cache("long-ago", 100, 101);
  test.leave_cache("just-now", 100, 0);
  test.leave_cache("nearly", 100, 90);
  sweep_caches(test.owner);
  CHECK_FALSE(test.has("at-once.cache"));
  CHECK_FALSE(test.has("long-ago.cache"));
  CHECK(test.has("just-now.cache"));
  CHECK(test.has("nearly.cache"));
}

TEST_CASE("a sweep leaves caches in use, however long they were not read") {
  const ListCase test;
  Child user(and_wait([&] {
    auto file = CacheFile::join(test.owner, "n", {7, 10, "/d", 1});
    if (!file) ::_exit(1);
    file->release();
  }));
  REQUIRE(user.wait_until_done());
  test.set_unused("n", 1000);
  sweep_caches(test.owner);
  CHECK(test.has("n.cache"));
  user.stop();
  sweep_caches(test.owner);
  CHECK(test.has("n.cache"));
  user.kill();
  sweep_caches(test.owner);
  CHECK_FALSE(test.has("n.cache"));
}

TEST_CASE("a clock that went back causes no early removal") {
  const ListCase test;
  test.leave_cache("n", 100, uint64_t(0) - 50);
  test.leave_cache("never", 100, uint64_t(0) - 1000);
  sweep_caches(test.owner);
  CHECK(test.has("n.cache"));
  CHECK_FALSE(test.has("never.cache"));
}

TEST_CASE("hits update the time of use and prevent a sweep") {
  ListCase test;
  {
    const auto cache =
        test.open(10, {.name = "n", .most_bytes = kMany, .keep_s = 100});
    cache->store(1, sample_bytes(1), 1);
    test.set_unused("n", 1000);
    REQUIRE(sample_in(*cache, 1));
    CHECK(test.list().at(0).used_s + 60 > uint64_t(::time(nullptr)));
    test.set_unused("n", 1000);
  }
  sweep_caches(test.owner);  // closing it counted as use
  CHECK(test.has("n.cache"));
}

TEST_CASE("opening a cache sweeps expired ones") {
  ListCase test;
  test.leave_cache("old", 10, 20);
  const auto cache = test.open(10, {.name = "n", .most_bytes = kMany});
  CHECK_FALSE(test.has("old.cache"));
  CHECK(test.has("n.cache"));
}

TEST_CASE("a file of another version is listed as unknown") {
  const ListCase test;
  test.leave_cache("n", 10, 0);
  std::ofstream(test.path("text.cache")) << std::string(10'000, 'x');
  const auto caches = test.list();
  REQUIRE(caches.size() == 2);
  CHECK_FALSE(caches[0].is_unknown);
  CHECK(caches[1].is_unknown);
  CHECK(caches[1].name == "text");
  CHECK(caches[1].path == test.path("text.cache"));
  CHECK(caches[1].memory_bytes >= 10'000);
  CHECK(caches[1].samples == 0);
}

TEST_CASE("files with invalid names are neither listed nor swept") {
  const ListCase test;
  test.leave_cache("n", 0, 0);
  for (const char* file :
       {"\x1b]0;x\a.cache", "a b.cache", ".hidden.cache", ".cache"}) {
    CAPTURE(file);
    std::filesystem::copy(test.path("n.cache"), test.path(file));
    CHECK(test.list().size() == 1);
    std::filesystem::remove(test.path(file));
  }
}

TEST_CASE("drop_empty_cache() removes an empty cache that is not in use") {
  ListCase test;
  test.leave_cache("n", 100, 0);
  drop_empty_cache(test.owner, "other");
  {
    const auto cache = test.open(10, {.name = "n", .most_bytes = kMany});
    drop_empty_cache(test.owner, "n");
    CHECK(test.has("n.cache"));
  }
  drop_empty_cache(test.owner, "n");
  CHECK_FALSE(std::filesystem::exists(test.folder));
  {
    const auto cache =
        test.open(10, {.name = "n", .most_bytes = kMany, .keep_s = 100});
    cache->store(1, sample_bytes(1), 1);
  }
  drop_empty_cache(test.owner, "n");
  CHECK(test.has("n.cache"));
}

TEST_CASE("files other than caches are not swept") {
  const ListCase test;
  test.leave_cache("n", 0, 0);
  std::filesystem::copy(test.path("n.cache"), test.path("copy"));
  std::ofstream(test.path("text.cache")) << std::string(10'000, 'x');
  std::ofstream(test.path("short.cache")) << "PSCACHE1";
  std::ofstream(test.path("empty.cache"));
  std::filesystem::create_directory(test.path("folder.cache"));
  REQUIRE(::mkfifo(test.path("fifo.cache").c_str(), 0600) == 0);
  std::filesystem::create_symlink("copy", test.path("link.cache"));
  CHECK(test.list().size() == 4);
  sweep_caches(test.owner);
  CHECK(test.list().size() == 3);
  for (const char* file : {"copy", "text.cache", "short.cache", "empty.cache",
                           "folder.cache", "fifo.cache", "link.cache"}) {
    CAPTURE(file);
    CHECK(test.has(file));
  }
}

TEST_CASE("a file is removed by name only if it is the given one") {
  const ListCase test;
  test.leave_cache("n", 0, 0);
  const auto folder = open_cache_folder(test.owner);
  REQUIRE(folder);
  const UniqueFd old(::open(test.path("n.cache").c_str(), O_RDWR));
  std::filesystem::remove(test.path("n.cache"));
  test.leave_cache("n", 0, 0);
  remove_cache_file(folder->get(), "n.cache", old.get());
  CHECK(test.has("n.cache"));
  const UniqueFd next(::open(test.path("n.cache").c_str(), O_RDWR));
  remove_cache_file(folder->get(), "n.cache", next.get());
  CHECK_FALSE(test.has("n.cache"));
}
