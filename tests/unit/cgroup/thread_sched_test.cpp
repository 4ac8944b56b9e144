#include "cgroup/thread_sched.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

struct Child {
  pid_t pid = fork();
  Child() {
    if (pid == 0) {
      for (;;) pause();
    }
  }
  ~Child() { end(); }
  void end() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = -1;
  }
};

}  // namespace

TEST_CASE("affinity of a process is set, widened and read") {
  ThreadSched sched;
  Child child;
  CpuSet all = *sched.affinity(child.pid);
  REQUIRE_FALSE(all.empty());
  CpuSet one({all.cpus().back()});
  REQUIRE(sched.set_affinity(child.pid, one));
  CHECK(*sched.affinity(child.pid) == one);
  REQUIRE(sched.set_widest_affinity(child.pid));
  CHECK((*sched.affinity(child.pid) & all) == all);
  CHECK(sched.set_affinity(child.pid, CpuSet{}).error().saved_errno == EINVAL);
}

TEST_CASE("policy of a process is set and restored") {
  ThreadSched sched;
  Child child;
  SchedPolicy before = *sched.policy(child.pid);
  REQUIRE(sched.set_policy(child.pid, {SCHED_IDLE, 0}));
  CHECK(sched.policy(child.pid)->policy == SCHED_IDLE);
  Status back = sched.set_policy(child.pid, before);
  if (geteuid() == 0) {
    REQUIRE(back);
    CHECK(*sched.policy(child.pid) == before);
  }
}

TEST_CASE("an ended thread is not found") {
  ThreadSched sched;
  Child child;
  pid_t pid = child.pid;
  child.end();
  CHECK(sched.affinity(pid).error().code == Code::kNotFound);
  CHECK(sched.set_affinity(pid, CpuSet{{0}}).error().code == Code::kNotFound);
  CHECK(sched.set_widest_affinity(pid).error().code == Code::kNotFound);
  CHECK(sched.policy(pid).error().code == Code::kNotFound);
  CHECK(sched.set_policy(pid, {}).error().code == Code::kNotFound);
}
