#include "cgroup/cgroup_fs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

CgroupFs open(const TempDir& dir) {
  return CgroupFs(*CgroupFs::open_root(dir.path()));
}

}  // namespace

TEST_CASE("groups are made, listed and removed") {
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("cpu"));
  REQUIRE(fs.make_dir("/cpu//b"));
  REQUIRE(fs.make_dir("cpu/a"));
  REQUIRE(fs.make_dir("cpu/a"));  // there already
  dir.write("cpu/tasks", "");
  CHECK(*fs.list_dirs("cpu") == std::vector<std::string>{"a", "b"});
  CHECK(fs.list_dirs("")->size() == 1);
  CHECK(fs.exists("cpu/a"));
  CHECK(fs.exists(""));
  REQUIRE(fs.remove_dir("cpu/a"));
  REQUIRE(fs.remove_dir("cpu/a"));  // gone already
  REQUIRE(fs.remove_dir("none/a"));
  CHECK_FALSE(fs.exists("cpu/a"));
  CHECK(fs.make_dir("none/a").error().code == Code::kNotFound);
  CHECK(fs.list_dirs("none").error().code == Code::kNotFound);
  Status busy = fs.remove_dir("cpu");
  CHECK(busy.error().code == Code::kIo);
  CHECK(busy.error().saved_errno == ENOTEMPTY);
}

TEST_CASE("a group that belongs to another user is refused") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root may give a group to a user");
    return;
  }
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("job"));
  REQUIRE(::chown((dir.path() / "job").c_str(), 1000, 1000) == 0);
  const Status refused = fs.make_dir("job");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK(refused.error().message ==
        "group job belongs to user 1000 and is not used; remove it");
}

TEST_CASE("files are read whole and written in place") {
  TempDir dir;
  CgroupFs fs = open(dir);
  std::string long_text(100'000, 'x');
  dir.write("cpu/tasks", long_text);
  CHECK(*fs.read_file("cpu/tasks") == long_text);
  REQUIRE(fs.write_file("cpu/tasks", "12"));
  CHECK(*fs.read_file("cpu/tasks") == "12");
  Status missing = fs.write_file("cpu/none", "1");
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message.find("cpu/none") != std::string::npos);
  CHECK_FALSE(fs.exists("cpu/none"));
}

TEST_CASE("a file over the size limit is refused") {
  TempDir dir;
  CgroupFs fs = open(dir);
  dir.write("big", std::string(CgroupFs::kMaxFileBytes, 'x'));
  CHECK(fs.read_file("big").ok());
  dir.write("big", std::string(CgroupFs::kMaxFileBytes + 1, 'x'));
  CHECK(fs.read_file("big").error().code == Code::kLimit);
}

TEST_CASE("a held descriptor rereads the file each time") {
  TempDir dir;
  CgroupFs fs = open(dir);
  dir.write("cpu/usage", "1\n");
  UniqueFd fd = *fs.open_file("cpu/usage");
  CHECK(*read_all(fd.get(), 100, "usage") == "1\n");
  REQUIRE(fs.write_file("cpu/usage", "27\n"));
  CHECK(*read_all(fd.get(), 100, "usage") == "27\n");
  CHECK(read_all(-1, 100, "usage").error().saved_errno == EBADF);
}

TEST_CASE("no path leads out of the tree") {
  TempDir outside;
  outside.write("secret", "s");
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("cpu"));
  for (const char* path : {"..", "cpu/../../x", "cpu/..", "./cpu"}) {
    CAPTURE(path);
    CHECK(fs.read_file(path).error().code == Code::kInvalidArgument);
    CHECK(fs.make_dir(path).error().code == Code::kInvalidArgument);
    CHECK(fs.open_dir(path).error().code == Code::kInvalidArgument);
  }
  CHECK_FALSE(fs.read_file(std::string_view("cpu\0/x", 6)).ok());
  std::filesystem::create_symlink(outside.path(), dir.path() / "link");
  std::filesystem::create_symlink(outside.path() / "secret",
                                  dir.path() / "cpu" / "file");
  CHECK_FALSE(fs.open_dir("link").ok());
  CHECK_FALSE(fs.read_file("link/secret").ok());
  CHECK(fs.read_file("cpu/file").error().saved_errno == ELOOP);
  CHECK(fs.write_file("cpu/file", "x").error().saved_errno == ELOOP);
  CHECK(outside.read("secret") == "s");
}

TEST_CASE("an open descriptor keeps its directory after a replacement") {
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("job"));
  UniqueFd held = *fs.open_dir("job");
  REQUIRE(fs.remove_dir("job"));
  REQUIRE(fs.make_dir("job"));
  dir.write("job/tasks", "1");
  CHECK(faccessat(held.get(), "tasks", F_OK, 0) != 0);
}

TEST_CASE("a mark belongs to its directory") {
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("job"));
  Status written = fs.write_mark("job", "penstock.cpus", "0-1 0-3");
  if (!written) {  // not root, or a file system without such attributes
    WARN("marks are not tested: " << written.error().message);
    return;
  }
  CHECK(*fs.read_mark("job", "penstock.cpus") == "0-1 0-3");
  REQUIRE(fs.write_mark("job", "penstock.cpus", "2"));
  CHECK(*fs.read_mark("job", "penstock.cpus") == "2");
  REQUIRE(fs.remove_mark("job", "penstock.cpus"));
  REQUIRE(fs.remove_mark("job", "penstock.cpus"));  // again
  CHECK(fs.read_mark("job", "penstock.cpus").error().code == Code::kNotFound);
  CHECK(fs.write_mark("none", "penstock.cpus", "").error().code ==
        Code::kNotFound);
  CHECK(fs.read_mark("../x", "a").error().code == Code::kInvalidArgument);
}

TEST_CASE("a lock has one holder and is released with its object") {
  TempDir dir;
  CgroupFs fs = open(dir);
  REQUIRE(fs.make_dir("scope"));
  {
    const auto lock = fs.try_lock("scope");
    REQUIRE(lock);
    CHECK(fs.try_lock("scope").error().code == Code::kUnavailable);
  }
  CHECK(fs.try_lock("scope"));
  CHECK(fs.try_lock("none").error().code == Code::kNotFound);
}

TEST_CASE("a watch reports writes since its creation") {
  TempDir dir;
  CgroupFs fs = open(dir);
  dir.write("step/control", "a");
  const auto watch = fs.watch_writes("step/control");
  REQUIRE(watch);
  CHECK_FALSE(watch->was_written());
  CHECK(*fs.read_file("step/control") == "a");
  CHECK_FALSE(watch->was_written());
  REQUIRE(fs.write_file("step/control", "b"));
  CHECK(watch->was_written());
  CHECK(fs.watch_writes("none").error().code == Code::kNotFound);
}
