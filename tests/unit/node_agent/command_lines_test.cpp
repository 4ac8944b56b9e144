#include "node_agent/command_lines.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond_ns = 1'000'000'000;

// tests/hostile/lock_memory.py, until the end of the test.
class LockedProcess {
 public:
  LockedProcess() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl("/usr/bin/python3", "python3", PENSTOCK_LOCK_MEMORY, "30",
              nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::array<char, 16> said{};
    has_lock_ = ::read(ends[0], said.data(), said.size()) > 0;
    ::close(ends[0]);
  }
  // Its server's end ends the lock.
  ~LockedProcess() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  LockedProcess(const LockedProcess&) = delete;
  LockedProcess& operator=(const LockedProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool has_lock() const { return has_lock_; }

 private:
  pid_t pid_ = -1;
  bool has_lock_ = false;
};

CommandLines read_now(const std::vector<pid_t>& pids) {
  struct sigaction before {};
  ::sigaction(SIGCHLD, nullptr, &before);
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  (void)*loop.add_timer(20, [&] { children.expire(monotonic_ns()); });
  std::optional<CommandLines> found;
  read_command_lines(children, ::getuid(), pids, [&](const CommandLines& it) {
    found = it;
    loop.stop();
  });
  if (!found) REQUIRE(loop.run().ok());
  ::sigaction(SIGCHLD, &before, nullptr);
  return *found;
}

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline");
  return {std::istreambuf_iterator<char>(file), {}};
}

TaskView view_of(std::vector<ProcessView> processes) {
  TaskView view;
  view.processes = std::move(processes);
  return view;
}

ProcessView process(pid_t pid, uint64_t starttime, const char* comm) {
  return {pid, 1, starttime, comm, {}, {}};
}

}  // namespace

TEST_CASE("command lines are read in order, those of ended processes empty") {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  const CommandLines lines = read_now({::getpid(), ended, ::getpid()});
  CHECK(lines.texts ==
        std::vector<std::string>{own_command_line(), "", own_command_line()});
  CHECK_FALSE(lines.next_hangs);
}

TEST_CASE("a process that holds the lock of its memory is given up in time") {
  const LockedProcess locked;
  if (!locked.has_lock()) {
    WARN("not tested: no permission to mount FUSE");
    return;
  }
  const uint64_t begun_ns = monotonic_ns();
  const CommandLines lines = read_now({::getpid(), locked.pid(), ::getpid()});
  CHECK(lines.texts.size() == 1);
  CHECK(lines.next_hangs);
  CHECK(monotonic_ns() - begun_ns < 10 * kSecond_ns);
}

TEST_CASE("the command line of a process that may exec is read again") {
  Task task;
  const TaskView view = view_of({process(7, 100, "python3")});
  uint64_t now_ns = 5 * kSecond_ns;
  const std::vector<pid_t> all{7};
  CHECK(unread_commands(view, now_ns, task) == all);
  CHECK_FALSE(keep_commands(all, {{"a"}}, now_ns, task));
  now_ns += kExecTakes_ns / 2;
  CHECK(unread_commands(view, now_ns, task) == all);
  CHECK_FALSE(keep_commands(all, {{"b"}}, now_ns, task));
  now_ns += kExecTakes_ns;
  CHECK(unread_commands(view, now_ns, task) == all);
  CHECK_FALSE(keep_commands(all, {{"c"}}, now_ns, task));
  CHECK(unread_commands(view, now_ns, task).empty());

  SECTION("another name is another program") {
    CHECK(unread_commands(view_of({process(7, 100, "perl")}), now_ns, task) ==
          all);
  }
  SECTION("another process may have the same pid") {
    CHECK(unread_commands(view_of({process(7, 101, "python3")}), now_ns,
                          task) == all);
  }
  SECTION("an exec ends what was known, also while the line is read") {
    note_exec(7, task);
    CHECK_FALSE(keep_commands(all, {{"d"}}, now_ns, task));
    TaskView filled = view;
    add_commands(task, filled);
    CHECK(filled.processes[0].command.hash == 0);
    CHECK(unread_commands(view, now_ns, task) == all);
  }
  SECTION("a hang leaves what was known") {
    reread_commands(task);
    CHECK(unread_commands(view, now_ns, task) == all);
    CHECK(keep_commands(all, {{}, true}, now_ns, task));
    TaskView filled = view;
    add_commands(task, filled);
    CHECK(filled.processes[0].command.hash == facts_of("c", "").hash);
  }
  SECTION("an exec may have been missed") {
    reread_commands(task);
    CHECK(unread_commands(view, now_ns, task) == all);
  }
  SECTION("a view gets what was read last") {
    TaskView filled = view;
    add_commands(task, filled);
    CHECK(filled.processes[0].command.hash == facts_of("c", "").hash);
  }
}

TEST_CASE("a command line that could not be read is read again") {
  Task task;
  const TaskView view = view_of({process(7, 100, "a"), process(8, 100, "b")});
  const std::vector<pid_t> both{7, 8};
  const uint64_t now_ns = kSecond_ns;
  CHECK(unread_commands(view, now_ns, task) == both);
  CHECK_FALSE(keep_commands(both, {{"x"}}, now_ns + 2 * kExecTakes_ns, task));
  CHECK(unread_commands(view, now_ns + 2 * kExecTakes_ns, task) ==
        std::vector<pid_t>{8});
}

TEST_CASE("a process that hung is not asked again, and known as such") {
  Task task;
  const TaskView view = view_of({process(7, 100, "a")});
  CHECK(unread_commands(view, kSecond_ns, task) == std::vector<pid_t>{7});
  CHECK(keep_commands({7}, {{}, true}, kSecond_ns, task));
  CHECK(hanging_processes(task) == std::vector<TaskId>{{7, 100}});
  CHECK(unread_commands(view, kSecond_ns, task).empty());
  reread_commands(task);
  CHECK(unread_commands(view, kSecond_ns, task).empty());
  Task adopted;
  restore_hanging(hanging_processes(task), adopted);
  CHECK(unread_commands(view, kSecond_ns, adopted).empty());
  CHECK(unread_commands(view_of({process(7, 101, "a")}), kSecond_ns, task) ==
        std::vector<pid_t>{7});
}

TEST_CASE("many hanging processes end the reading of their task's lines") {
  Task task;
  std::vector<ProcessView> processes;
  for (size_t i = 0; i <= kMaxHangs; ++i) {
    const auto pid = static_cast<pid_t>(100 + i);
    processes.push_back(process(pid, 1, "a"));
    const TaskView view = view_of(processes);
    const std::vector<pid_t> unread = unread_commands(view, kSecond_ns, task);
    if (i == kMaxHangs) {
      CHECK(unread.empty());
    } else {
      CHECK(unread == std::vector<pid_t>{pid});
      CHECK(keep_commands(unread, {{}, true}, kSecond_ns, task));
    }
  }
}
