#include "common/state_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock {
namespace {

TEST_CASE("the directory is created, and refused if others may write to it") {
  TempDir parent;
  const std::string path = parent.path() / "state";
  REQUIRE(open_state_dir(path));
  REQUIRE(open_state_dir(path));
  REQUIRE(::chmod(path.c_str(), 0777) == 0);
  const auto open = open_state_dir(path);
  REQUIRE_FALSE(open);
  CHECK(open.error().code == Code::kPermissionDenied);
  CHECK(open.error().message ==
        "StateDir=" + path +
            ": must belong to root and be writable by root alone");
  const auto nowhere = open_state_dir(parent.path() / "a/b");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Code::kNotFound);
  const auto link = parent.path() / "link";
  REQUIRE(::symlink(parent.path().c_str(), link.c_str()) == 0);
  CHECK_FALSE(open_state_dir(link));
}

TEST_CASE("a node is off only while it is marked") {
  TempDir parent;
  const auto dir = open_state_dir(parent.path() / "state");
  REQUIRE(dir);
  const auto since = [&] {
    const auto found = off_since_unix_s(dir->get());
    REQUIRE(found);
    return *found;
  };
  CHECK_FALSE(since());
  CHECK(unmark_off(dir->get()));
  const auto marked = mark_off(dir->get());
  REQUIRE(marked);
  CHECK(*marked == Approx(double(std::time(nullptr))).margin(60));
  CHECK(since() == *marked);
  CHECK(unmark_off(dir->get()));
  CHECK_FALSE(since());
}

TEST_CASE("a second mark keeps the time of the first") {
  TempDir parent;
  const auto dir = open_state_dir(parent.path() / "state");
  REQUIRE(dir);
  REQUIRE(mark_off(dir->get()));
  const timespec then[] = {{1000, 0}, {1000, 500'000'000}};
  REQUIRE(::utimensat(dir->get(), kOffMark, then, 0) == 0);
  const auto again = mark_off(dir->get());
  REQUIRE(again);
  CHECK(*again == 1000.5);
}

TEST_CASE("a mark that cannot be set or removed is reported") {
  TempDir parent;
  const auto dir = open_state_dir(parent.path() / "state");
  REQUIRE(dir);
  REQUIRE(::mkdirat(dir->get(), kOffMark, 0755) == 0);
  CHECK_FALSE(mark_off(dir->get()));
  CHECK_FALSE(unmark_off(dir->get()));
}

}  // namespace
}  // namespace penstock
