// Tests broker/desk.h: the rules meet the kernel's state.
#include "broker/desk.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/cpu_bits.h"
#include "broker/report_dir.h"
#include "broker/user_reader.h"
#include "common/memfd.h"
#include "common/whole_file.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

const std::string kStep = "/slurm_n1/uid_1000/job_7/step_0";

struct Fixture {
  Fixture() {
    machine.make_slurm_group(kStep, "0-1");
    machine.start(100, 100, 1);
    for (const char* controller : {"cpuset", "freezer"})
      machine.place(100, controller, kStep);
    machine.start(200, 200, 1);  // a service
  }

  Status ask(const BrokerRequest& request) {
    return desk.carry_out(request, {}).reply.status;
  }
  Code refusal(const BrokerRequest& request) {
    const Status status = ask(request);
    REQUIRE_FALSE(status);
    return status.error().code;
  }

  FakeMachine machine;
  TempDir run;
  std::string metrics_file;
  BrokerDesk desk{machine.fs(),
                  machine.proc(),
                  machine.sched(),
                  BrokerRules("penstock", machine.mounts()),
                  {.socket_path = run.path() / "socket",
                   .metrics_file = [this] { return metrics_file; }}};
};

BrokerRequest make(const std::string& path) {
  return {.verb = Verb::kMakeGroup, .path = path};
}
BrokerRequest write(const std::string& path, const std::string& text) {
  return {.verb = Verb::kWriteControl, .path = path, .data = text};
}
BrokerRequest move(pid_t tid, const std::string& path) {
  return {.verb = Verb::kMove, .id = tid, .path = path};
}

}  // namespace

TEST_CASE("a job's thread goes away and comes home") {
  Fixture f;
  REQUIRE(f.ask(make("cpuset/penstock")));
  REQUIRE(f.ask(make("cpuset/penstock/job_7")));
  for (const char* group : {"cpuset/penstock", "cpuset/penstock/job_7"}) {
    REQUIRE(f.ask(write(group + std::string("/cpuset.mems"), "0")));
    REQUIRE(f.ask(write(group + std::string("/cpuset.cpus"), "0-3")));
  }
  REQUIRE(f.ask(move(100, "cpuset/penstock/job_7/tasks")));
  CHECK(f.machine.group_of(100, "cpuset") == "/penstock/job_7");
  REQUIRE(f.ask({.verb = Verb::kSetAffinity,
                 .id = 100,
                 .data = to_bits(CpuSet({2, 3}))}));
  CHECK(f.machine.threads()[100].affinity == CpuSet({2, 3}));
  REQUIRE(f.ask({.verb = Verb::kSetAffinity, .id = 100}));
  REQUIRE(f.ask(move(100, "cpuset" + kStep + "/tasks")));
  CHECK(f.machine.group_of(100, "cpuset") == kStep);
  CHECK(f.ask({.verb = Verb::kRemoveGroup, .path = "cpuset/penstock/job_7"}));
}

TEST_CASE("a service's thread, and another job's groups, are out of reach") {
  Fixture f;
  REQUIRE(f.ask(make("cpuset/penstock")));
  REQUIRE(f.ask(make("cpuset/penstock/job_7")));
  REQUIRE(f.ask(make("cpuset/penstock/job_8")));
  for (const BrokerRequest& request :
       {move(200, "cpuset/penstock/job_7/tasks"),
        move(100, "cpuset/penstock/job_8/tasks"), move(100, "cpuset/tasks"),
        BrokerRequest{.verb = Verb::kSetAffinity, .id = 200},
        BrokerRequest{
            .verb = Verb::kSetPolicy, .id = 200, .numbers = {SCHED_OTHER, 0}},
        write("cpuset" + kStep + "/cpuset.cpus", "0"), make("cpuset/other"),
        BrokerRequest{
            .verb = Verb::kReadUserFile, .id = 200, .path = "/etc/shadow"}}) {
    CAPTURE(int(request.verb), request.path);
    CHECK(f.refusal(request) == Code::kPermissionDenied);
  }
  CHECK(f.machine.group_of(200, "cpuset") == "/");
}

TEST_CASE("an ended thread is told from a refusal") {
  Fixture f;
  CHECK(f.refusal(move(300, "cpuset/penstock/job_7/tasks")) == Code::kNotFound);
}

TEST_CASE("no policy that the job's user may not set") {
  Fixture f;
  const auto policy = [](int64_t number, int64_t priority) {
    return BrokerRequest{
        .verb = Verb::kSetPolicy, .id = 100, .numbers = {number, priority}};
  };
  CHECK(f.ask(policy(SCHED_IDLE, 0)));
  CHECK(f.machine.threads()[100].policy.policy == SCHED_IDLE);
  CHECK(f.ask(policy(SCHED_OTHER, 0)));
  CHECK_FALSE(f.ask(policy(SCHED_FIFO, 99)));
  CHECK(f.refusal(policy(6 /* SCHED_DEADLINE */, 0)) ==
        Code::kPermissionDenied);
  CHECK(f.machine.threads()[100].policy.policy == SCHED_OTHER);
}

TEST_CASE("the socket's file is removed with the desk, but not another's") {
  Fixture f;
  const std::string path = f.run.path() / "socket";
  const auto is_there = [&] { return ::access(path.c_str(), F_OK) == 0; };
  {
    BrokerDesk desk(f.machine.fs(), f.machine.proc(), f.machine.sched(),
                    BrokerRules("penstock", {}),
                    {.socket_path = path, .metrics_file = [] { return ""; }});
    CHECK(desk.carry_out({.verb = Verb::kListen}, {}).fd);
    CHECK(is_there());
  }
  CHECK_FALSE(is_there());
  {
    BrokerDesk desk(f.machine.fs(), f.machine.proc(), f.machine.sched(),
                    BrokerRules("penstock", {}),
                    {.socket_path = path, .metrics_file = [] { return ""; }});
    (void)desk.carry_out({.verb = Verb::kListen}, {});
    CHECK(f.desk.carry_out({.verb = Verb::kListen}, {}).fd);
  }
  CHECK(is_there());
  CHECK(f.ask({.verb = Verb::kStopListening}));
  CHECK_FALSE(is_there());
}

namespace {

// A child's answer.
std::string answer_to(Fixture& f, const BrokerRequest& request,
                      std::vector<UniqueFd> fds = {}) {
  ::signal(SIGCHLD, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd in(ends[0]);
  fds.emplace_back(ends[1]);
  const Status started = f.desk.carry_out(request, fds).reply.status;
  if (!started) return started.error().message;
  fds.clear();
  std::string answer;
  char block[512];
  ssize_t size = 0;
  while ((size = ::read(in.get(), block, sizeof block)) > 0) {
    answer.append(block, static_cast<size_t>(size));
  }
  return answer;
}

std::vector<UniqueFd> file_with(const std::string& text) {
  Result<UniqueFd> file = create_memfd("test");
  REQUIRE(file);
  REQUIRE(write_whole(file->get(), text) == 0);
  REQUIRE(::fcntl(file->get(), F_ADD_SEALS, F_SEAL_WRITE) == 0);
  std::vector<UniqueFd> fds;
  fds.push_back(*std::move(file));
  return fds;
}

}  // namespace

TEST_CASE("metrics are written to the file that penstock.conf names, only") {
  Fixture f;
  const std::string path = f.run.path() / "p.prom";
  const BrokerRequest write{.verb = Verb::kWriteMetrics, .path = path};
  CHECK_THAT(answer_to(f, write, file_with("x 1\n")),
             Catch::Matchers::ContainsSubstring("not MetricsFile"));
  f.metrics_file = path;
  CHECK(answer_to(f, write, file_with("x 1\n")) == "=");
  CHECK(f.run.read("p.prom") == "x 1\n");
  // The file of before may still be removed.
  f.metrics_file = f.run.path() / "other.prom";
  CHECK(answer_to(f, {.verb = Verb::kRemoveMetrics, .path = path}) == "=");
  CHECK(::access(path.c_str(), F_OK) != 0);
  CHECK(f.refusal({.verb = Verb::kWriteMetrics, .path = path}) ==
        Code::kPermissionDenied);  // without descriptors
}

TEST_CASE("no file is read as root, nor as another user than the process's") {
  Fixture f;
  const auto answer = [&](int64_t user) {
    return answer_to(f, {.verb = Verb::kReadUserFile,
                         .id = 100,
                         .numbers = {user, 0},
                         .path = "/etc/shadow"});
  };
  for (const int64_t root : {int64_t{0}, int64_t{1} << 32, int64_t{-1}}) {
    CHECK_THAT(answer(root), Catch::Matchers::ContainsSubstring("as root"));
  }
  CHECK(group_of_user_process(
            {.real_uid = 5, .real_gid = 8, .has_one_user = true}, 5) ==
        gid_t{8});
  CHECK_FALSE(group_of_user_process(
      {.real_uid = 5, .real_gid = 8, .has_one_user = false}, 5));
  CHECK_FALSE(group_of_user_process(
      {.real_uid = 5, .real_gid = 8, .has_one_user = true}, 6));
  CHECK_FALSE(group_of_user_process(
      {.real_uid = 0, .real_gid = 8, .has_one_user = true}, 0));
}

TEST_CASE("only processes of jobs are looked at, a few, and not as root") {
  Fixture f;
  const auto answer = [&](const std::vector<int32_t>& processes, int64_t user) {
    return answer_to(
        f, {.verb = Verb::kLookAtReads,
            .numbers = {user, 0},
            .data = std::string(reinterpret_cast<const char*>(processes.data()),
                                4 * processes.size())});
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(answer({100}, 0), ContainsSubstring("as root"));
  CHECK_THAT(answer({}, 5), ContainsSubstring("at no process"));
  CHECK_THAT(answer(std::vector<int32_t>(9, 100), 5),
             ContainsSubstring("or at too many"));
  CHECK_THAT(answer({100, 200}, 5), ContainsSubstring("refuses"));
  CHECK_THAT(
      answer_to(
          f, {.verb = Verb::kLookAtReads, .numbers = {5, 0}, .data = "12345"}),
      ContainsSubstring("at no process"));
}

TEST_CASE("descriptors of other kinds are refused") {
  Fixture f;
  f.metrics_file = f.run.path() / "p.prom";
  const BrokerRequest write{.verb = Verb::kWriteMetrics,
                            .path = f.metrics_file};
  std::vector<UniqueFd> open_file;
  open_file.emplace_back(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  CHECK_THAT(answer_to(f, write, std::move(open_file)),
             Catch::Matchers::ContainsSubstring("without its descriptors"));
  std::vector<UniqueFd> fds = file_with("x 1\n");
  fds.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK_FALSE(f.desk.carry_out(write, fds).reply.status);
}

TEST_CASE("StateDir and ReportDir of root's go to AgentUser") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give directories away");
    return;
  }
  ::signal(SIGCHLD, SIG_IGN);
  constexpr uid_t kUser = 64001;
  const FakeMachine machine;
  const TempDir run;
  run.write("reports/7.json", "{}");
  BrokerDesk desk(machine.fs(), machine.proc(), machine.sched(),
                  BrokerRules("penstock", machine.mounts()),
                  {.socket_path = run.path() / "state/agent",
                   .state_dir = run.path() / "state",
                   .report_dir = run.path() / "reports",
                   .user = kUser,
                   .metrics_file = [] { return ""; }});
  const auto owner = [&](const char* name) {
    struct stat found {};
    REQUIRE(::stat((run.path() / name).c_str(), &found) == 0);
    return found.st_uid;
  };
  const auto give = [&] {
    return desk.carry_out({.verb = Verb::kGiveDirectories}, {}).reply.status;
  };
  REQUIRE(give());
  CHECK(owner("state") == kUser);
  // A child gives the reports.
  for (int i = 0; i < 1000 && owner("reports") != kUser; ++i) ::usleep(10'000);
  CHECK(owner("reports") == kUser);
  CHECK(owner("reports/7.json") == kUser);

  // As a service manager takes it back, with a socket left behind.
  run.write("state/agent", "");
  REQUIRE(::chown((run.path() / "state").c_str(), 0, -1) == 0);
  REQUIRE(give());
  CHECK(owner("state") == kUser);
}

TEST_CASE("reports are known by their names") {
  for (const char* name :
       {"7", "4294967295", "7.json", "7.txt", "7.12.json", ".7.json.new"}) {
    CAPTURE(name);
    CHECK(is_report(name));
  }
  for (const char* name : {"", "a.json", "7.csv", "7x", ".7.json", "7.json.new",
                           "7x.json", ".new", "..json", "passwd"}) {
    CAPTURE(name);
    CHECK_FALSE(is_report(name));
  }
}
