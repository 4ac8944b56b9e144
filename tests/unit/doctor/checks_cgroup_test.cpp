// Checks of the control groups, with mount tables and groups of the test.
#include <filesystem>

#include "shared.h"

namespace penstock::doctor {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

std::string v1_line(const std::string& controllers, const char* mode = "rw") {
  return "cgroup /sys/fs/cgroup/" + controllers + " cgroup " + mode +
         ",nosuid," + controllers + " 0 0\n";
}

Findings check(const FakeSite& site, const std::string& mounts) {
  site.write("mounts", mounts);
  return check_cgroup(site.places, kRoot, kBookworm);
}

const std::string kRest = v1_line("cpuset") + v1_line("blkio");

TEST_CASE("complete v1 and hybrid hierarchies are ok") {
  FakeSite site;
  const std::string v1 = v1_line("cpu") + kRest + v1_line("freezer");
  const Finding good = check(site, v1).at(0);
  CHECK(good.verdict == Verdict::kOk);
  CHECK(good.found == "v1 at /sys/fs/cgroup: cpu, cpuset, blkio, freezer");
  const Finding hybrid =
      check(site, v1 + "none /sys/fs/cgroup/unified cgroup2 rw 0 0\n").at(0);
  CHECK(hybrid.verdict == Verdict::kOk);
  CHECK(has(hybrid.found, "hybrid, of which Penstock uses v1"));
}

TEST_CASE(
    "v1 with cpu and cpuacct in one hierarchy is a warning with a remedy") {
  FakeSite site;
  const Findings found =
      check(site, v1_line("cpu,cpuacct") + kRest + v1_line("freezer"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].verdict == Verdict::kWarn);
  CHECK(has(found[0].found, "cpu and cpuacct are one hierarchy"));
  CHECK(has(found[0].remedy, "JobAcctGatherType=jobacct_gather/linux"));
  // The remedy applied.
  site.write("slurm.conf", "JobAcctGatherType=jobacct_gather/linux\n");
  CHECK(check(site, v1_line("cpu,cpuacct") + kRest + v1_line("freezer"))
            .front()
            .verdict == Verdict::kOk);
}

TEST_CASE("missing v1 controllers are reported with the mount command") {
  FakeSite site;
  const Findings two = check(site, v1_line("cpu") + v1_line("cpuset"));
  REQUIRE(two.size() == 2);
  CHECK(two[0].verdict == Verdict::kWarn);
  CHECK(has(two[0].found, "blkio"));
  CHECK(has(two[0].remedy,
            "mount -t cgroup -o blkio cgroup "
            "/sys/fs/cgroup/blkio"));
  CHECK(two[1].verdict == Verdict::kFail);
  CHECK(has(two[1].found, "freezer"));
  CHECK(any_failed(check(site, kRest)));
  CHECK(any_failed(check(site, "")));
}

TEST_CASE("read-only control groups are failures with the remedy") {
  FakeSite site;
  const Findings v1 = check(site, v1_line("cpu") + v1_line("cpuset", "ro") +
                                      v1_line("blkio") + v1_line("freezer"));
  REQUIRE(v1.size() == 1);
  CHECK(v1[0].verdict == Verdict::kFail);
  CHECK(v1[0].found.starts_with("/sys/fs/cgroup/cpuset is mounted read-only"));
  CHECK(has(v1[0].remedy, "mount -o remount,rw /sys/fs/cgroup/cpuset"));
  const Findings v2 =
      check(site, "cgroup2 /sys/fs/cgroup cgroup2 ro,nsdelegate 0 0\n");
  CHECK(v2.at(0).verdict == Verdict::kFail);
  CHECK(has(v2.at(0).found, "read-only"));
}

TEST_CASE("an unreadable or malformed mount table is a failure") {
  FakeSite site;
  CHECK(any_failed(check_cgroup(site.places, kRoot, {})));
  CHECK(any_failed(check(site, "one two\n")));
}

// A unified hierarchy in a directory of the test.
struct Unified : FakeSite {
  explicit Unified(const std::string& controllers) : root(file("cg")) {
    write("cg/cgroup.controllers", controllers);
    write("mounts", "cgroup2 " + root + " cgroup2 rw,nsdelegate 0 0\n");
  }
  Findings check(const Installed& slurm = kBookworm) const {
    return check_cgroup(places, root, slurm);
  }
  void scope(const std::string& controllers) const {
    write("cg/system.slice/n1_slurmstepd.scope/cgroup.controllers",
          controllers);
  }
  std::string root;
};

TEST_CASE("v2 needs cpu and cpuset") {
  CHECK(Unified("cpuset cpu io memory\n").check().at(0).verdict ==
        Verdict::kOk);
  const Finding lacks = Unified("cpu io memory\n").check().at(0);
  CHECK(lacks.verdict == Verdict::kFail);
  CHECK(has(lacks.found, "without the controller cpuset"));
}

TEST_CASE(
    "v2: io that does not reach Slurm's scope is a warning with the lines to "
    "add") {
  Unified v2("cpuset cpu io memory pids\n");
  const auto io = [&](const Installed& slurm) {
    return finding_of(v2.check(slurm), "cgroup io");
  };
  CHECK(io(kBookworm).verdict == Verdict::kSkip);  // slurmd has not started
  v2.scope("cpuset cpu io memory pids\n");
  CHECK(io(kBookworm).verdict == Verdict::kOk);

  v2.scope("cpuset cpu memory pids\n");
  const Finding old = io(kBookworm);
  CHECK(old.verdict == Verdict::kWarn);
  CHECK(has(old.found, "/cg/system.slice/n1_slurmstepd.scope"));
  CHECK(has(old.remedy,
            "slurmd.service.d/penstock.conf: write the lines "
            "[Service] and IOAccounting=yes"));
  CHECK(io({}).remedy == old.remedy);
  CHECK(io(SlurmVersion{25, 5, 0}).remedy ==
        v2.file("cgroup.conf") +
            ": add the lines EnableControllers=yes and "
            "EnableExtraControllers=io; restart slurmd");
}

TEST_CASE(
    "v2: a controller cpuset that does not reach Slurm's scope is a failure") {
  Unified v2("cpuset cpu io memory pids\n");
  v2.scope("cpu io memory pids\n");
  const Findings lacks = v2.check();
  REQUIRE(lacks.size() == 1);
  CHECK(lacks[0].verdict == Verdict::kFail);
  CHECK(has(lacks[0].found, "the controller cpuset does not reach " + v2.root +
                                "/system.slice/n1_slurmstepd.scope"));
  CHECK(has(lacks[0].remedy, "Delegate=yes"));
  CHECK(has(lacks[0].remedy, "systemctl stop slurmd n1_slurmstepd.scope;"));
}

}  // namespace
}  // namespace penstock::doctor
