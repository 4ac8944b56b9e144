#include "cgroup/proc_reader.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cgroup/cgroup_fs.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

ProcReader captured() {
  return ProcReader(*CgroupFs::open_root(std::string(PENSTOCK_FIXTURES) +
                                         "/proc/slurm-22.05-batch"));
}

ProcReader reader_of(const TempDir& dir) {
  return ProcReader(*CgroupFs::open_root(dir.path()));
}

}  // namespace

TEST_CASE("a captured Slurm task is read") {
  ProcReader proc = captured();
  CHECK(*proc.identity(24317) == TaskId{24317, 241077});
  CHECK((*proc.cgroups(24317))["cpuset"] ==
        "/slurm_pst0/uid_1001/job_1/step_batch");
  CHECK(*proc.comm(24317) == "a) R 1 (b");
  CHECK(*proc.comm(24318) == "loader 0");
  CHECK(proc.status(24317)->real_uid == 1001);
  CHECK(*proc.comm(24319) == "fetch");
  CHECK(proc.open_schedstat(24317)->read()->run_ns == 233166651);
  CHECK(*proc.threads(24317) == std::vector<pid_t>{24317, 24319});
  CHECK(*proc.children(24317) == std::vector<pid_t>{24318});
  auto family = proc.descendants(24317, 10);
  REQUIRE(family);
  CHECK(family->pids == std::vector<pid_t>{24318});
  CHECK_FALSE(family->truncated);
  CHECK_FALSE(proc.autogroup_enabled());  // not captured
}

TEST_CASE("a process is identified by its pid and start time") {
  ProcReader proc = captured();
  CHECK(proc.verify({24317, 241077}));
  CHECK(proc.verify({24317, 0}));
  CHECK(proc.verify({24317, 241078}).error().code == Code::kNotFound);
  CHECK(proc.verify({99, 0}).error().code == Code::kNotFound);
  CHECK(proc.threads(99).error().code == Code::kNotFound);
  CHECK(proc.children(99).error().code == Code::kNotFound);
}

TEST_CASE("the pid namespace of a process is read") {
  auto proc = ProcReader::open();
  REQUIRE(proc);
  CHECK(*proc->pid_namespace(getpid()) == *proc->pid_namespace(getppid()));
  CHECK(captured().pid_namespace(99).error().code == Code::kNotFound);
}

TEST_CASE("a short read is an error that names the process") {
  TempDir dir;
  dir.write("7/stat", "7 (x) S 1 ");
  dir.write("7/status", "Name:\tx\n");
  dir.write("7/schedstat", "12");
  ProcReader proc = reader_of(dir);
  auto stat = proc.stat(7);
  CHECK(stat.error().code == Code::kInvalidArgument);
  CHECK(stat.error().message.find("process 7") != std::string::npos);
  CHECK_FALSE(proc.status(7).ok());
  CHECK_FALSE(proc.open_schedstat(7)->read().ok());
}

TEST_CASE("a list of descendants is bounded and ends in spite of cycles") {
  TempDir dir;
  dir.write("1/task/1/children", "2 3 4 ");
  dir.write("2/task/2/children", "5 1 ");
  ProcReader proc = reader_of(dir);
  auto all = proc.descendants(1, 10);
  REQUIRE(all);
  CHECK(all->pids == std::vector<pid_t>{2, 3, 4, 5});
  auto some = proc.descendants(1, 2);
  REQUIRE(some);
  CHECK(some->pids == std::vector<pid_t>{2, 3});
  CHECK(some->truncated);
}

TEST_CASE("a kernel without children files is reported") {
  TempDir dir;
  dir.write("7/stat", read_fixture("proc/slurm-22.05-batch/24317/stat"));
  std::filesystem::create_directories(dir.path() / "7/task/7");
  auto none = reader_of(dir).children(7);
  CHECK(none.error().code == Code::kUnavailable);
}

TEST_CASE("a living child is read, and an ended one is not found") {
  ProcReader proc = *ProcReader::open();
  int go[2];
  REQUIRE(pipe(go) == 0);
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, "x) S 1 (");
    close(go[0]);
    close(go[1]);
    for (;;) pause();
  }
  close(go[1]);
  char byte;
  CHECK(read(go[0], &byte, 1) == 0);  // the child has its name now
  close(go[0]);
  CHECK(*proc.comm(child) == "x) S 1 (");
  CHECK(proc.stat(child)->comm == "x) S 1 (");
  CHECK(proc.stat(child)->ppid == getpid());
  auto family = proc.descendants(getpid(), 100);
  if (family.ok()) {
    CHECK(std::count(family->pids.begin(), family->pids.end(), child) == 1);
  } else {
    WARN("SKIPPED in part: " << family.error().message);
  }
  TaskId identity = *proc.identity(child);
  SchedstatFile held = *proc.open_schedstat(child);
  CHECK(held.read().ok());
  const ThreadStatFile stat = *proc.open_stat(child);
  CHECK(std::string("RS").find(*stat.state()) != std::string::npos);
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  CHECK(proc.identity(child).error().code == Code::kNotFound);  // a zombie
  waitpid(child, nullptr, 0);
  CHECK(held.read().error().code == Code::kNotFound);
  CHECK(stat.state().error().code == Code::kNotFound);
  CHECK(proc.verify(identity).error().code == Code::kNotFound);
}

TEST_CASE("960 held schedstats are read within 10 ms") {
  ProcReader proc = *ProcReader::open();
  std::vector<SchedstatFile> files;
  for (int i = 0; i < 960; ++i) {
    auto file = proc.open_schedstat(getpid());
    REQUIRE(file);
    files.push_back(std::move(*file));
  }
  double best_ms = 1e9;
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (const SchedstatFile& file : files) REQUIRE(file.read().ok());
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    best_ms = std::min(best_ms, took.count());
  }
  WARN("960 reads: " << best_ms << " ms");
  CHECK(best_ms < 10);
}
