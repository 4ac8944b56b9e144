#include "node_agent/home_split.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE(
    "a loader gets as many CPUs as it has threads, the trainer the rest") {
  CHECK(loader_part(CpuSet({0, 1, 2, 3}), 1, {}) == CpuSet({3}));
  CHECK(loader_part(CpuSet({0, 1, 2, 3}), 3, {}) == CpuSet({1, 2, 3}));
}

TEST_CASE("home is not split without a request or if no CPU would be left") {
  CHECK(loader_part(CpuSet({0, 1}), 0, {}).empty());
  CHECK(loader_part(CpuSet({0, 1}), 2, {}).empty());
  CHECK(loader_part(CpuSet({0, 1}), 4096, {}).empty());
  CHECK(loader_part(CpuSet(), 1, {}).empty());
}

TEST_CASE("hardware threads of a core go to the same side") {
  // CPUs 0 and 2 are core 0, CPUs 1 and 3 are core 1.
  CHECK(loader_part(CpuSet({0, 1, 2, 3}), 2, {0, 1, 0, 1}) == CpuSet({1, 3}));
}

namespace {

// A second thread of this process.
struct Other {
  Other() {
    while (tid == 0) ::usleep(100);
  }
  ~Other() {
    done = true;
    thread.join();
  }
  std::atomic<pid_t> tid = 0;
  std::atomic<bool> done = false;
  std::thread thread{[this] {
    tid = pid_t(::syscall(SYS_gettid));
    while (!done) ::usleep(1000);
  }};
};

struct Machine {
  Machine() {
    auto opened = ProcReader::open();
    REQUIRE(opened);
    proc.emplace(*std::move(opened));
    split.cpus = *sched.affinity(me);
  }
  ~Machine() { (void)sched.set_affinity(me, split.cpus); }
  CpuSet mask(pid_t tid) { return sched.affinity(tid).value_or(CpuSet()); }

  const pid_t me = ::getpid();
  ThreadSched sched;
  std::optional<ProcReader> proc;
  HomeSplit split;
};

}  // namespace

TEST_CASE("loader and trainer threads are pinned to their sides and released") {
  Machine machine;
  if (machine.split.cpus.size() < 2) {
    WARN("SKIPPED: one CPU");
    return;
  }
  machine.split.loader = loader_part(machine.split.cpus, 1, {});
  const Other other;
  const HomeSplitter splitter(*machine.proc, machine.sched);
  SplitThreads threads;
  splitter.apply(machine.split, {machine.me}, {other.tid}, {}, threads);
  CHECK(machine.mask(other.tid) == machine.split.loader);
  CHECK(machine.mask(machine.me) == machine.split.trainer());

  SECTION("a thread that changes sides is moved") {
    splitter.apply(machine.split, {machine.me}, {}, {}, threads);
    CHECK(machine.mask(other.tid) == machine.split.trainer());
  }
  SECTION("a thread that it creates is released, too") {
    splitter.apply(machine.split, {machine.me}, {other.tid}, {}, threads);
    const Other third;  // by the main thread, which is restricted
    REQUIRE(machine.mask(third.tid) == machine.split.trainer());
    splitter.undo(machine.split, TaskId{machine.me, 0}, threads);
    CHECK(machine.mask(third.tid) == machine.split.cpus);
  }
  SECTION("after a crash, the next penstockd releases it") {
    splitter.undo_saved(machine.split, TaskId{machine.me, 0}, {});
  }
  splitter.undo(machine.split, TaskId{machine.me, 0}, threads);
  CHECK(machine.mask(other.tid) == machine.split.cpus);
  CHECK(machine.mask(machine.me) == machine.split.cpus);
}

TEST_CASE("a thread that its user pinned to a part's CPUs keeps them") {
  Machine machine;
  if (machine.split.cpus.size() < 2) return;
  machine.split.loader = loader_part(machine.split.cpus, 1, {});
  const Other other;
  const HomeSplitter splitter(*machine.proc, machine.sched);
  const TaskId task{machine.me, 0};
  SplitThreads threads;
  CpuSet chosen = machine.split.trainer();

  SECTION("before the split") {
    REQUIRE(machine.sched.set_affinity(other.tid, chosen));
    splitter.apply(machine.split, {machine.me}, {other.tid}, {}, threads);
    CHECK(machine.mask(other.tid) == chosen);
    CHECK(threads.users == std::set<pid_t>{other.tid});
  }
  SECTION("after the split") {
    splitter.apply(machine.split, {machine.me}, {}, {}, threads);
    chosen = machine.split.loader;
    REQUIRE(machine.sched.set_affinity(other.tid, chosen));
    splitter.apply(machine.split, {machine.me}, {}, {}, threads);
    CHECK(machine.mask(other.tid) == chosen);
  }
  SECTION("before the split, which is undone after a crash") {
    REQUIRE(machine.sched.set_affinity(other.tid, chosen));
    splitter.apply(machine.split, {machine.me}, {other.tid}, {}, threads);
    splitter.undo_saved(machine.split, task, threads.users);
    CHECK(machine.mask(other.tid) == chosen);
    CHECK(machine.mask(machine.me) == machine.split.cpus);
  }
  splitter.apply(machine.split, {machine.me}, {other.tid}, {}, threads);
  splitter.undo(machine.split, task, threads);
  CHECK(machine.mask(other.tid) == chosen);
  CHECK(machine.mask(machine.me) == machine.split.cpus);
}

TEST_CASE("nothing is released that was not restricted") {
  Machine machine;
  if (machine.split.cpus.size() < 2) return;
  machine.split.loader = loader_part(machine.split.cpus, 1, {});
  const Other other;
  REQUIRE(machine.sched.set_affinity(other.tid, machine.split.loader));
  SplitThreads threads;
  const HomeSplitter splitter(*machine.proc, machine.sched);
  splitter.undo(machine.split, TaskId{machine.me, 0}, threads);
  CHECK(machine.mask(other.tid) == machine.split.loader);
}

TEST_CASE("away threads keep their affinity") {
  Machine machine;
  if (machine.split.cpus.size() < 2) return;
  machine.split.loader = loader_part(machine.split.cpus, 1, {});
  const Other other;
  const HomeSplitter splitter(*machine.proc, machine.sched);
  SplitThreads threads;
  splitter.apply(machine.split, {machine.me}, {other.tid}, {other.tid},
                 threads);
  CHECK(machine.mask(other.tid) == machine.split.cpus);
}

TEST_CASE("an ended process is not an error") {
  const Machine machine;
  const HomeSplitter splitter(*machine.proc, machine.sched);
  HomeSplit split{CpuSet({0, 1}), CpuSet({1})};
  SplitThreads threads;
  splitter.apply(split, {999999999}, {}, {}, threads);
  splitter.undo(split, TaskId{999999999, 0}, threads);
  splitter.undo_saved(split, TaskId{999999999, 0}, {});
}
