#include "node_agent/metrics_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <vector>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"
#include "tests/unit/node_agent/logged.h"

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

// A MetricsFile with a loop, and what it logs.
class Daemon {
 public:
  Daemon() : loop_(*EventLoop::create()), children_(loop_), file(children_) {
    ::signal(SIGCHLD, SIG_IGN);
  }

  // Runs the loop, once: calls a step every 10 ms until it returns true, then
  // the next one.
  void run(const std::vector<std::function<bool()>>& steps) {
    size_t done = 0;
    int left = 2000;
    REQUIRE(loop_.add_timer(10, [&] {
      if (steps[done]()) ++done;
      if (done == steps.size() || --left == 0) loop_.stop();
    }));
    REQUIRE(loop_.run());
    REQUIRE(done == steps.size());
  }
  void end_children() {
    children_.serve([this] { return file.is_idle(); }, 20'000);
    children_.end_all();
  }

 private:
  EventLoop loop_;
  BoundedChildren children_;

 public:
  MetricsFile file;
};

TEST_CASE("a file is removed once its path is no longer configured") {
  const Directory it;
  Daemon daemon;
  daemon.file.write("nowhere\n");
  CHECK_FALSE(daemon.file.is_used());
  daemon.file.use(it.file());
  CHECK(daemon.file.is_used());
  daemon.file.write("text\n");
  daemon.run({[&] { return it.read("p.prom") == "text\n"; },
              [&] {
                daemon.file.use(it.file("other.prom"));
                return true;
              },
              [&] {
                daemon.file.write("more\n");
                return it.read("other.prom") == "more\n";
              },
              [&] { return !fs::exists(it.file()); }});
  daemon.file.use("");
  daemon.end_children();
  CHECK(it.entries() == 0);
}

TEST_CASE("a running writer does not restore a removed file") {
  for (int round = 0; round < 50; ++round) {
    const Directory it;
    Daemon daemon;
    daemon.file.use(it.file());
    daemon.file.write(std::string(100'000, 'x'));
    ::usleep(useconds_t(round) * 20);
    daemon.file.use("");
    daemon.end_children();
    // A killed writer may leave its temporary file.
    CHECK_FALSE(fs::exists(it.file()));
  }
}

TEST_CASE("an error is logged once, and again only after a success") {
  const Directory it;
  test::Logged log;
  const std::string failed = "MetricsFile=" + it.file("dir/p.prom") + ": " +
                             it.file("dir") +
                             ": No such file or directory; tried again every "
                             "15 s\n";
  const auto times = [&] { return log.count(failed); };
  Daemon daemon;
  daemon.file.use(it.file("dir/p.prom"));
  const auto writing = [&](auto condition) {
    return [&daemon, condition] {
      daemon.file.write("text\n");
      return condition();
    };
  };
  int ticks = 0;  // of 10 ms each
  daemon.run({writing([&] { return ++ticks > 30 && times() > 0; }),
              [&] {
                CHECK(times() == 1);
                return fs::create_directory(it.file("dir"));
              },
              writing([&] { return fs::exists(it.file("dir/p.prom")); }),
              [&] { return fs::remove_all(it.file("dir")) > 0; },
              writing([&] { return times() > 1; })});
  CHECK(times() == 2);
  // A missing directory is not logged at the end.
  const std::string before = log.text();
  daemon.file.use("");
  daemon.end_children();
  CHECK(log.text() == before);
}

}  // namespace
}  // namespace penstock
