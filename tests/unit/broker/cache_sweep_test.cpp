// Tests broker/cache_sweep.h: which caches are removed and which stay.
#include "broker/cache_sweep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kNow_s = 1'000'000;

struct Node {
  Node() {
    char name[] = "/dev/shm/penstock-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    base = name;
    folder = base + "/penstock-cache-" + std::to_string(::getuid());
    REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  }
  ~Node() { fs::remove_all(base); }

  // A cache with a keep time of keep_s, last used idle_s before kNow_s.
  std::string cache(const std::string& name, uint64_t keep_s,
                    uint64_t idle_s) const {
    const std::string path = folder + "/" + name;
    std::string bytes(4096, '\0');
    bytes.replace(0, kCacheMagicText.size(), kCacheMagicText);
    bytes.replace(kCacheKeepOffset, sizeof keep_s,
                  reinterpret_cast<const char*>(&keep_s), sizeof keep_s);
    std::ofstream(path) << bytes;
    const timespec used{static_cast<time_t>(kNow_s - idle_s), 0};
    const timespec times[] = {used, used};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    return path;
  }

  std::string base, folder;
};

}  // namespace

TEST_CASE(
    "a cache is removed after the shorter of the user's and the admin's "
    "limits") {
  const Node node;
  const std::string gone = node.cache("a.cache", 60, 60);
  const std::string kept = node.cache("b.cache", 61, 60);
  const std::string capped = node.cache("c.cache", UINT64_MAX, 600);
  CHECK(CacheSweep(node.base).run(600, kNow_s) == 2);
  CHECK_FALSE(fs::exists(gone));
  CHECK(fs::exists(kept));
  CHECK_FALSE(fs::exists(capped));
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 1);
  CHECK_FALSE(fs::exists(node.folder));
}

TEST_CASE("shared batches of killed jobs are removed too") {
  const Node node;
  const std::string path = node.cache("a.stage", 0, 1);
  std::fstream(path, std::ios::in | std::ios::out) << kStageMagicText;
  CHECK(CacheSweep(node.base).run(0, kNow_s + 10) == 1);
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a cache in use by a process is kept") {
  const Node node;
  const std::string path = node.cache("a.cache", 0, 1000);
  UniqueFd user(::open(path.c_str(), O_RDWR));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = kCacheLocksOffset + kCacheMembers - 1;
  lock.l_len = 1;
  REQUIRE(::fcntl(user.get(), F_OFD_SETLK, &lock) == 0);
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 0);
  user.reset();
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 1);
}

TEST_CASE("a cache with a last use in the future is not kept for ever") {
  const Node node;
  const std::string path = node.cache("a.cache", UINT64_MAX, 0);
  CHECK(CacheSweep(node.base).run(600, kNow_s) == 0);
  CHECK(CacheSweep(node.base).run(600, kNow_s - 100) == 0);
  CHECK(CacheSweep(node.base).run(600, kNow_s - 1000) == 1);
}

TEST_CASE(
    "a tmpfs full of foreign folders delays a sweep but does not prevent it") {
  const Node node;
  node.cache("a.cache", 0, 1000);
  for (int i = 0; i < 2 * CacheSweep::kMostEntries; ++i) {
    fs::create_directory(node.base + "/penstock-cache-x" + std::to_string(i));
  }
  CacheSweep sweep(node.base);
  uint64_t removed = 0;
  for (int run = 0; run < 4; ++run) removed += sweep.run(0, kNow_s);
  CHECK(removed == 1);
}

TEST_CASE(
    "folders with a wrong name or mode for a cache folder are left alone") {
  const Node node;
  const std::string path = node.cache("a.cache", 0, 1000);
  REQUIRE(::chmod(node.folder.c_str(), 0755) == 0);
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 0);
  const std::string other = node.base + "/penstock-cache-12345678";
  fs::rename(node.folder, other);
  REQUIRE(::chmod(other.c_str(), 0700) == 0);
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 0);
  const std::string group =
      node.base + "/penstock-cache-g" + std::to_string(::getgid());
  fs::rename(other, group);
  REQUIRE(::chmod(group.c_str(), 02770) == 0);
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 1);
}

TEST_CASE(
    "links, FIFOs, directories and foreign files are skipped without "
    "blocking") {
  const Node node;
  const std::string other = node.base + "/other";
  std::ofstream(other) << std::string(4096, '\0');
  REQUIRE(::symlink(other.c_str(), (node.folder + "/l.cache").c_str()) == 0);
  REQUIRE(::mkfifo((node.folder + "/f.cache").c_str(), 0600) == 0);
  fs::create_directory(node.folder + "/d.cache");
  std::ofstream(node.folder + "/short.cache") << "x";
  std::ofstream(node.folder + "/results.cache") << std::string(4096, '\0');
  std::ofstream(node.folder + "/note.txt") << std::string(4096, '\0');
  fs::create_directory(node.base + "/penstock-else");
  std::ofstream(node.base + "/penstock-else/a.cache")
      << std::string(4096, '\0');
  REQUIRE(::symlink((node.base + "/penstock-else").c_str(),
                    (node.base + "/penstock-cache-7").c_str()) == 0);
  CHECK(CacheSweep(node.base).run(0, kNow_s) == 0);
  CHECK(fs::exists(other));
  CHECK(fs::exists(node.folder + "/note.txt"));
  CHECK(fs::exists(node.folder + "/results.cache"));
  CHECK(fs::exists(node.base + "/penstock-else/a.cache"));
  CHECK(CacheSweep(node.base + "/none").run(0, kNow_s) == 0);
}
