// Tests node_agent/metrics_file.h.
#include "node_agent/metrics_file.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "broker/metrics_file.h"
#include "broker/workers.h"
#include "common/whole_file.h"
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

// A MetricsFile with a loop, and what it logs.
class Daemon {
 public:
  Daemon()
      : loop_(*EventLoop::create()),
        children_(loop_),
        file(
            children_,
            {[this](const std::string& path, const std::string& text, int out) {
               return work(out, [=] { return write_metrics_file(path, text); });
             },
             [this](const std::string& path, int out) {
               return work(out, [=] { return remove_metrics_file(path); });
             }}) {
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
  // As the broker does it.
  Status work(int out, const std::function<Status()>& change) {
    return workers_.start({.body =
                               [&](int answer, int) {
                                 const Status done = change();
                                 (void)write_whole(
                                     answer, done ? "=" : done.error().message);
                               }},
                          out);
  }

  EventLoop loop_;
  BoundedChildren children_;
  Workers workers_;

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
