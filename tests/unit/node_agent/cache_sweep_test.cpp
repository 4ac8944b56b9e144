// node_agent/cache_sweep.h: what goes, and what never does.
#include "node_agent/cache_sweep.h"

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
    folder = base + "/penstock-cache-1000";
    fs::create_directory(folder);
  }
  ~Node() { fs::remove_all(base); }

  // A file that says for how long it is kept, and was used then.
  std::string cache(const std::string& name, uint64_t keep_s,
                    uint64_t idle_s) const {
    const std::string path = folder + "/" + name;
    std::string bytes(4096, '\0');
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

TEST_CASE("a cache goes when neither its user nor the admin keeps it longer") {
  const Node node;
  const std::string gone = node.cache("a.cache", 60, 60);
  const std::string kept = node.cache("b.cache", 61, 60);
  const std::string capped = node.cache("c.cache", UINT64_MAX, 600);
  CHECK(remove_left_caches(600, kNow_s, node.base) == 2);
  CHECK_FALSE(fs::exists(gone));
  CHECK(fs::exists(kept));
  CHECK_FALSE(fs::exists(capped));
  CHECK(remove_left_caches(0, kNow_s, node.base) == 1);
  CHECK_FALSE(fs::exists(node.folder));
}

TEST_CASE("one that a process uses stays") {
  const Node node;
  const std::string path = node.cache("a.cache", 0, 1000);
  UniqueFd user(::open(path.c_str(), O_RDWR));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = kCacheLocksOffset + kCacheMembers - 1;
  lock.l_len = 1;
  REQUIRE(::fcntl(user.get(), F_OFD_SETLK, &lock) == 0);
  CHECK(remove_left_caches(0, kNow_s, node.base) == 0);
  user.reset();
  CHECK(remove_left_caches(0, kNow_s, node.base) == 1);
}

TEST_CASE("whatever else is there is left alone, and nothing is waited for") {
  const Node node;
  const std::string other = node.base + "/other";
  std::ofstream(other) << std::string(4096, '\0');
  REQUIRE(::symlink(other.c_str(), (node.folder + "/l.cache").c_str()) == 0);
  REQUIRE(::mkfifo((node.folder + "/f.cache").c_str(), 0600) == 0);
  fs::create_directory(node.folder + "/d.cache");
  std::ofstream(node.folder + "/short.cache") << "x";
  std::ofstream(node.folder + "/note.txt") << std::string(4096, '\0');
  fs::create_directory(node.base + "/penstock-else");
  std::ofstream(node.base + "/penstock-else/a.cache")
      << std::string(4096, '\0');
  REQUIRE(::symlink((node.base + "/penstock-else").c_str(),
                    (node.base + "/penstock-cache-7").c_str()) == 0);
  CHECK(remove_left_caches(0, kNow_s, node.base) == 0);
  CHECK(fs::exists(other));
  CHECK(fs::exists(node.folder + "/note.txt"));
  CHECK(fs::exists(node.base + "/penstock-else/a.cache"));
  CHECK(remove_left_caches(0, kNow_s, node.base + "/none") == 0);
}
