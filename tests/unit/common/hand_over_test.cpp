// Tests common/hand_over.h.
#include "common/hand_over.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uid_t kUser = 64001;

uid_t owner_of(const std::filesystem::path& path) {
  struct stat found {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_uid;
}

Status give(const TempDir& dir) {
  return hand_over(dir.path(), "StateDir=x", kUser,
                   [](std::string_view name) { return name == "term"; });
}

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("skipped: only root can give files away");
  return false;
}

}  // namespace

TEST_CASE("a directory of root's goes to its new owner with its files") {
  if (!is_root()) return;
  const TempDir dir;
  dir.write("term", "7");
  REQUIRE(give(dir));
  CHECK(owner_of(dir.path()) == kUser);
  CHECK(owner_of(dir.path() / "term") == kUser);
  CHECK(give(dir));
}

TEST_CASE("directories of root's in it go with their files") {
  if (!is_root()) return;
  const TempDir dir, other;
  std::filesystem::create_directory(dir.path() / "term");
  dir.write("term/n1.json", "{}");
  other.write("file", "");
  std::filesystem::create_symlink(other.path() / "file",
                                  dir.path() / "term/n2.json");
  REQUIRE(give(dir));
  CHECK(owner_of(dir.path() / "term") == kUser);
  CHECK(owner_of(dir.path() / "term/n1.json") == kUser);
  CHECK(owner_of(other.path() / "file") == 0);
}

TEST_CASE("another user's directory in it stays as it is") {
  if (!is_root()) return;
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / "term");
  dir.write("term/n1.json", "{}");
  REQUIRE(::chown((dir.path() / "term").c_str(), 12345, -1) == 0);
  REQUIRE(give(dir));
  CHECK(owner_of(dir.path() / "term") == 12345);
  CHECK(owner_of(dir.path() / "term/n1.json") == 0);
}

TEST_CASE("a link's target stays as it is") {
  if (!is_root()) return;
  const TempDir dir, other;
  other.write("file", "");
  std::filesystem::create_symlink(other.path() / "file", dir.path() / "term");
  REQUIRE(give(dir));
  CHECK(owner_of(other.path() / "file") == 0);
}

TEST_CASE("a directory with other files, or open to others, stays root's") {
  if (!is_root()) return;
  const TempDir dir;
  dir.write("term", "7");
  dir.write("slurmd.pid", "1");
  const Status shared = give(dir);
  REQUIRE_FALSE(shared);
  CHECK_THAT(shared.error().message,
             ContainsSubstring("StateDir=x: has other files too, such as "
                               "slurmd.pid"));
  CHECK(owner_of(dir.path()) == 0);
  CHECK(owner_of(dir.path() / "term") == 0);
  std::filesystem::remove(dir.path() / "slurmd.pid");
  REQUIRE(::chmod(dir.path().c_str(), 0777) == 0);
  const Status open = give(dir);
  REQUIRE_FALSE(open);
  CHECK_THAT(open.error().message, ContainsSubstring("chmod go-w"));
  CHECK(owner_of(dir.path()) == 0);
}

TEST_CASE("a missing directory is no error, and a user's stays the user's") {
  if (!is_root()) return;
  CHECK(hand_over("/nonexistent", "x", kUser, [](auto) { return true; }));
  const TempDir dir;
  REQUIRE(::chown(dir.path().c_str(), 64002, -1) == 0);
  dir.write("other", "");
  CHECK(give(dir));
  CHECK(owner_of(dir.path()) == 64002);
}
