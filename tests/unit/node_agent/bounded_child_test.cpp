#include "node_agent/bounded_child.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "common/clock.h"
#include "tests/unit/catch.h"
#include "tests/unit/node_agent/hung_directory.h"

using namespace penstock;

namespace {

constexpr uint64_t kLong_ms = 20'000;

class Runner {
 public:
  Runner() : loop_(*EventLoop::create()), children_(loop_) {
    ::signal(SIGCHLD, SIG_IGN);
    (void)*loop_.add_timer(20, [this] { children_.expire(monotonic_ns()); });
  }

  Result<std::string> run(std::function<void(int)> body,
                          uint64_t deadline_ms = kLong_ms,
                          size_t max_bytes = 4096) {
    std::optional<Result<std::string>> answer;
    children_.start({"work", std::move(body), deadline_ms, max_bytes},
                    [&](Result<std::string> result) {
                      answer = std::move(result);
                      loop_.stop();
                    });
    if (!answer) REQUIRE(loop_.run().ok());
    return *answer;
  }

  Result<std::string> run_elsewhere(std::function<Status(int)> elsewhere,
                                    uint64_t deadline_ms = kLong_ms) {
    std::optional<Result<std::string>> answer;
    ChildWork work{"work", nullptr, deadline_ms, 4096};
    work.elsewhere = std::move(elsewhere);
    children_.start(work, [&](Result<std::string> result) {
      answer = std::move(result);
      loop_.stop();
    });
    if (!answer) REQUIRE(loop_.run().ok());
    return *answer;
  }

 private:
  EventLoop loop_;
  BoundedChildren children_;
};

void say(int out, std::string_view text) {
  REQUIRE(::write(out, text.data(), text.size()) == ssize_t(text.size()));
}

// A pid that the child writes; shared memory, since children inherit no file.
class SharedPid {
 public:
  SharedPid()
      : pid_(static_cast<pid_t*>(::mmap(nullptr, sizeof(pid_t),
                                        PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(pid_ != MAP_FAILED);
  }
  ~SharedPid() { ::munmap(pid_, sizeof(pid_t)); }

  void set() const { *pid_ = ::getpid(); }
  bool is_set() const { return *static_cast<volatile pid_t*>(pid_) > 0; }
  // True when the process is gone, or goes within 5 s.
  bool ends() const {
    for (int i = 0; i < 500; ++i) {
      if (::kill(*pid_, 0) != 0 && errno == ESRCH) return true;
      ::usleep(10'000);
    }
    return false;
  }

 private:
  pid_t* pid_;
};

}  // namespace

TEST_CASE("work that another process does has the same answer and deadline") {
  CHECK(*Runner().run_elsewhere([](int out) -> Status {
    say(out, "done");
    return Done{};
  }) == "done");
  const auto refused = Runner().run_elsewhere([](int) -> Status {
    return Error{Code::kLimit, 0, "not now"};
  });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "not now");
  UniqueFd held;
  const auto late = Runner().run_elsewhere(
      [&](int out) -> Status {
        held.reset(::dup(out));
        return Done{};
      },
      50);
  REQUIRE_FALSE(late);
  CHECK(late.error().saved_errno == ETIMEDOUT);
}

TEST_CASE("the callback receives the child's complete output") {
  CHECK(*Runner().run([](int out) { say(out, "one"), say(out, " two"); }) ==
        "one two");
  CHECK(Runner().run([](int) {})->empty());
}

TEST_CASE("a child inherits no open files and no signal handlers") {
  // All open files but the standard ones must be closed in the child.
  const UniqueFd ours(::dup(STDERR_FILENO));
  ::signal(SIGUSR1, SIG_IGN);
  const std::string seen = *Runner().run([](int out) {
    int open_files = 0;
    DIR* files = ::opendir("/proc/self/fd");
    while (files != nullptr && ::readdir(files) != nullptr) ++open_files;
    const bool handled = ::signal(SIGUSR1, SIG_DFL) != SIG_DFL ||
                         ::signal(SIGCHLD, SIG_DFL) != SIG_DFL;
    // ".", "..", 0, 1, 2, and the directory itself.
    say(out, std::to_string(open_files - 6) + (handled ? " handled" : ""));
  });
  ::signal(SIGUSR1, SIG_DFL);
  CHECK(seen == "0");
}

TEST_CASE("a child that hangs is killed at its deadline") {
  const SharedPid child;
  const uint64_t begun_ns = monotonic_ns();
  Result<std::string> answer = Runner().run(
      [&child](int) {
        child.set();
        while (true) ::pause();
      },
      300);
  const double took_ms = double(monotonic_ns() - begun_ns) * 1e-6;
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == Code::kUnavailable);
  CHECK_THAT(answer.error().message,
             Catch::Matchers::ContainsSubstring("within 300 ms"));
  CHECK(took_ms >= 300);
  CHECK(took_ms < 5000);
  REQUIRE(child.is_set());
  CHECK(child.ends());
}

TEST_CASE("a child that exceeds its output limit is an error") {
  Result<std::string> answer = Runner().run(
      [](int out) {
        while (::write(out, "0123456789", 10) > 0) {
        }
      },
      kLong_ms, 100);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == Code::kLimit);
}

TEST_CASE("the output of a crashed child is kept") {
  CHECK(*Runner().run([](int out) {
    say(out, "half");
    ::raise(SIGSEGV);
  }) == "half");
}

TEST_CASE("running children end when their owner is destroyed") {
  const SharedPid child;
  std::string why;
  {
    EventLoop loop = *EventLoop::create();
    BoundedChildren children(loop);
    children.start(
        {"work", [&child](int) { child.set(), ::pause(); }, kLong_ms, 10},
        [&](const Result<std::string>& result) {
          why = result.error().message;
        });
    for (int i = 0; i < 500 && !child.is_set(); ++i) ::usleep(10'000);
  }
  CHECK(why == "penstockd is stopping");
  REQUIRE(child.is_set());
  CHECK(child.ends());
}

TEST_CASE("a child without a pidfd is killed at once") {
  ::signal(SIGCHLD, SIG_DFL);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  // Two free descriptors: for the pipe, not for a pidfd.
  int free[] = {::dup(STDIN_FILENO), ::dup(STDIN_FILENO)};
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  const rlimit low{rlim_t(std::max(free[0], free[1]) + 1), old.rlim_max};
  ::close(free[0]), ::close(free[1]);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  std::string why;
  children.start(
      {"work",
       [](int) {
         while (true) ::pause();
       },
       kLong_ms, 10},
      [&](const Result<std::string>& result) { why = result.error().message; });
  ::setrlimit(RLIMIT_NOFILE, &old);
  CHECK_THAT(why, Catch::Matchers::StartsWith("pidfd_open"));
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 500 && ended == 0; ++i) {
    ended = ::waitpid(-1, &status, WNOHANG);
    if (ended == 0) ::usleep(10'000);
  }
  REQUIRE(ended > 0);
  CHECK(WIFSIGNALED(status));
  ::signal(SIGCHLD, SIG_IGN);
}

TEST_CASE("children for one user leave room for those of others") {
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  std::vector<uid_t> refused;
  const auto start_for = [&](uid_t user) {
    ChildWork work{"work", [](int) { ::pause(); }, kLong_ms, 10};
    work.user = user;
    children.start(work, [&refused, user](const Result<std::string>& result) {
      if (result.error().message == "work: too many at once") {
        refused.push_back(user);
      }
    });
  };
  for (size_t i = 0; i < BoundedChildren::kMaxOfUser + 1; ++i) start_for(1000);
  start_for(1001);
  CHECK(refused == std::vector<uid_t>{1000});
}

TEST_CASE("an answer in time counts, even if penstockd is late") {
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  std::string text;
  std::string error;
  ChildWork work{"work", [](int out) { say(out, "done"), ::pause(); }, 1, 10};
  work.stream = [&](std::string_view block) {
    text += block;
    return false;
  };
  children.start(work, [&](const Result<std::string>& result) {
    if (!result) error = result.error().message;
  });
  // Only time can tell that the child has written; the test is of expire().
  for (int i = 0; i < 500 && text.empty() && error.empty(); ++i) {
    ::usleep(20'000);
    children.expire(0);
  }
  children.expire(monotonic_ns());
  CHECK(error.empty());
  CHECK(text == "done");
}

TEST_CASE("children beyond the limit are refused") {
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  int refused = 0;
  for (size_t i = 0; i < BoundedChildren::kMaxChildren + 2; ++i) {
    children.start({"work", [](int) { ::pause(); }, kLong_ms, 10},
                   [&](const Result<std::string>& result) {
                     if (result.error().message == "work: too many at once") {
                       ++refused;
                     }
                   });
  }
  CHECK(refused == 2);
}

TEST_CASE("streamed output arrives until the reader or the deadline ends it") {
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  (void)*loop.add_timer(20, [&] { children.expire(monotonic_ns()); });
  ChildWork work;
  work.what = "work";
  work.deadline_ms = 300;
  std::string seen;
  std::optional<Result<std::string>> end;
  SECTION("the reader ends it after more than one deadline") {
    work.body = [](int out) {
      while (::write(out, "x", 1) == 1) ::usleep(20'000);
    };
    work.stream = [&](std::string_view text) {
      seen += text;
      return seen.size() < 25;
    };
  }
  SECTION("silence until the deadline ends it") {
    work.body = [](int out) {
      say(out, "x");
      ::pause();
    };
    work.stream = [&](std::string_view text) {
      seen += text;
      return true;
    };
  }
  children.start(work, [&](Result<std::string> result) {
    end = std::move(result);
    loop.stop();
  });
  if (!end) REQUIRE(loop.run().ok());
  if (seen == "x") {
    REQUIRE_FALSE(end->ok());
    CHECK(end->error().code == Code::kUnavailable);
  } else {
    CHECK(end->ok());
    CHECK(seen.size() == 25);
  }
}

TEST_CASE("work does not start again while its killed child hangs") {
  ::signal(SIGCHLD, SIG_IGN);
  test::HungDirectory hung;
  if (!hung.is_there()) {
    WARN("skipped: needs root and /dev/fuse");
    return;
  }
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  const SharedPid child;
  const auto try_it = [&](const std::string& what) {
    std::string why;
    children.start({what,
                    [&](int) {
                      child.set();
                      (void)::open(hung.path().c_str(), O_RDONLY);
                    },
                    kLong_ms, 10},
                   [&why](const Result<std::string>& result) {
                     why = result ? "done" : result.error().message;
                   });
    children.serve([&] { return !why.empty(); }, 200);
    children.expire(monotonic_ns() + 2 * kLong_ms * 1'000'000);
    return why;
  };
  CHECK(try_it("work") == "work: not done within 20000 ms");
  REQUIRE(child.is_set());
  CHECK(try_it("work") == "work: the last try still hangs");
  CHECK(try_it("other") == "other: not done within 20000 ms");
  hung.answer();
  CHECK(child.ends());
  CHECK(try_it("other") == "done");
}

TEST_CASE("outside of the event loop, children are served for a limited time") {
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  std::string seen;
  const auto note = [&](const Result<std::string>& result) {
    seen += result ? *result : "-";
  };
  const auto is_done = [&] { return !seen.empty(); };
  children.start({"hung", [](int) { ::pause(); }, kLong_ms, 10}, note);
  children.serve(is_done, 50);
  CHECK(seen.empty());
  children.start({"quick", [](int out) { say(out, "x"); }, kLong_ms, 10}, note);
  children.serve(is_done, kLong_ms);
  CHECK(seen == "x");
  children.end_all();
  CHECK(seen == "x-");
}
