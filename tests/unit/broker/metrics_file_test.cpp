// Tests broker/metrics_file.h.
#include "broker/metrics_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Directory : TempDir {
  std::string file(const std::string& name = "p.prom") const {
    return path() / name;
  }
  size_t entries() const {
    return size_t(std::distance(fs::directory_iterator(path()),
                                fs::directory_iterator()));
  }
};

mode_t mode_of(const std::string& path) {
  struct stat found {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_mode;
}

TEST_CASE("the file is replaced completely and is readable by all users") {
  const Directory it;
  const mode_t before = ::umask(077);
  REQUIRE(write_metrics_file(it.file(), "first\n"));
  REQUIRE(write_metrics_file(it.file(), "2nd\n"));
  ::umask(before);
  CHECK(it.read("p.prom") == "2nd\n");
  CHECK(mode_of(it.file()) == (S_IFREG | 0644));
  CHECK(it.entries() == 1);
}

TEST_CASE("no link in the directory is followed") {
  const Directory it;
  it.write("other/victim", "untouched");
  fs::create_symlink(it.file("other/victim"), it.file());
  fs::create_symlink(it.file("other/victim"), it.file(".p.prom.new"));
  REQUIRE(write_metrics_file(it.file(), "ours\n"));
  CHECK(it.read("other/victim") == "untouched");
  CHECK(it.read("p.prom") == "ours\n");
  CHECK(mode_of(it.file()) == (S_IFREG | 0644));
  CHECK(it.entries() == 2);
}

TEST_CASE("a directory that is a link, or that others may write, is refused") {
  const Directory it;
  fs::create_directory(it.file("real"));
  fs::create_directory_symlink(it.file("real"), it.file("link"));
  const Status linked = write_metrics_file(it.file("link/p.prom"), "x\n");
  REQUIRE_FALSE(linked);
  CHECK(linked.error().code == Code::kIo);
  REQUIRE(::chmod(it.file("real").c_str(), 0777) == 0);
  for (const Status& refused : {write_metrics_file(it.file("real/p.prom"), ""),
                                remove_metrics_file(it.file("real/p.prom"))}) {
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kPermissionDenied);
    CHECK(refused.error().message ==
          it.file("real") +
              ": must belong to root and be writable by root alone");
  }
  CHECK(fs::is_empty(it.file("real")));
  if (::geteuid() != 0) return;
  REQUIRE(::chmod(it.file("real").c_str(), 0755) == 0);
  REQUIRE(::chown(it.file("real").c_str(), 65534, 0) == 0);
  CHECK_FALSE(write_metrics_file(it.file("real/p.prom"), ""));
}

TEST_CASE("a missing directory is an error with its path") {
  const Directory it;
  const Status gone = write_metrics_file(it.file("gone/p.prom"), "x\n");
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Code::kNotFound);
  CHECK(gone.error().message ==
        it.file("gone") + ": No such file or directory");
}

TEST_CASE("a write that fails halfway leaves the file unchanged") {
  const Directory it;
  REQUIRE(write_metrics_file(it.file(), "whole\n"));
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status full = write_metrics_file(it.file(), std::string(100, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Code::kIo);
  CHECK(it.read("p.prom") == "whole\n");
  CHECK(it.entries() == 1);
}

TEST_CASE("a directory in the file's place is an error") {
  const Directory it;
  fs::create_directory(it.file());
  CHECK_FALSE(write_metrics_file(it.file(), "x\n"));
  CHECK_FALSE(remove_metrics_file(it.file()));
  CHECK(it.entries() == 1);
}

TEST_CASE("removal also deletes the temporary file of a killed writer") {
  const Directory it;
  it.write(".p.prom.new", "half");
  REQUIRE(write_metrics_file(it.file(), "x\n"));
  it.write(".p.prom.new", "half");
  REQUIRE(remove_metrics_file(it.file()));
  CHECK(it.entries() == 0);
  CHECK(remove_metrics_file(it.file()));
}

}  // namespace
}  // namespace penstock
