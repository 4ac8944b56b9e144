#include "node_agent/process_ids.h"

#include "cgroup/cgroup_fs.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

// A /proc with process 500, which has threads 500 and 501.
struct Fixture {
  // ns_pids: as in NSpid, from the machine's namespace to the innermost one.
  void add(pid_t pid, pid_t tid, const std::string& ns_pids) {
    const std::string text = "Tgid:\t" + std::to_string(pid) +
                             "\nUid:\t5\t5\t5\t5\nGid:\t8\t8\t8\t8\nNSpid:\t" +
                             ns_pids + "\nCpus_allowed_list:\t0\n";
    const std::string id = std::to_string(tid);
    dir.write(id + "/status", text);
    dir.write(std::to_string(pid) + "/task/" + id + "/status", text);
  }
  pid_t host(pid_t tid) const {
    return host_tid(ProcReader(*CgroupFs::open_root(dir.path())), 500, tid);
  }

  TempDir dir;
};

}  // namespace

TEST_CASE("a thread of the machine's namespace keeps its id") {
  Fixture f;
  f.add(500, 500, "500");
  f.add(500, 501, "501");
  f.add(600, 601, "601");
  CHECK(f.host(501) == 501);
  CHECK(f.host(601) == -1);  // another process's
  CHECK(f.host(502) == -1);
}

TEST_CASE("a thread of an inner namespace is found by its innermost id") {
  Fixture f;
  f.add(500, 500, "500\t1");
  f.add(500, 501, "501\t2");
  f.add(2, 2, "2");
  CHECK(f.host(1) == 500);
  CHECK(f.host(2) == 501);  // and not the machine's thread 2
  CHECK(f.host(501) == -1);
}
