#include "tests/unit/cgroup/live_cgroups.h"

#include <signal.h>
#include <sys/wait.h>

#include <thread>

namespace penstock {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

[[noreturn]] void stay(bool spins) {
  volatile bool spin = spins;
  for (;;) {
    if (!spin) pause();
  }
}

}  // namespace

std::string LiveCgroups::missing() {
  if (geteuid() != 0) return "root is needed to make control groups";
  auto mounts = v1_mounts_of_system(kRoot);
  if (!mounts) return mounts.error().message;
  for (const char* controller : {"cpu", "cpuset", "cpuacct", "blkio"}) {
    auto mount = mounts->path_of.find(controller);
    if (mount == mounts->path_of.end()) {
      return std::string("no cgroup v1 controller ") + controller;
    }
    std::string path = std::string(kRoot) + "/" + mount->second;
    if (access(path.c_str(), W_OK) != 0) return path + " is read-only";
  }
  return "";
}

LiveCgroups::LiveCgroups(bool away_yields)
    : fs_(*CgroupFs::open_root(kRoot)),
      proc_(*ProcReader::open()),
      mounts_(std::move(*v1_mounts_of_system(kRoot))),
      name_("penstock-test-" + std::to_string(getpid())) {
  backend_.emplace(std::move(
      *V1Backend::create(fs_, proc_, sched_, mounts_, {name_, away_yields})));
}

LiveCgroups::~LiveCgroups() { (void)backend_->sweep({}, nullptr); }

bool LiveCgroups::anything_left() const {
  for (const auto& [controller, mount] : mounts_.path_of) {
    if (fs_.exists(mount + "/" + name_)) return true;
  }
  return false;
}

Child::Child(int threads, bool spins) {
  int ready[2];
  if (pipe(ready) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    for (int i = 1; i < threads; ++i) {
      std::thread(stay, spins).detach();
    }
    close(ready[0]);
    close(ready[1]);  // all threads exist now
    stay(spins);
  }
  close(ready[1]);
  char byte;
  while (read(ready[0], &byte, 1) < 0) {
  }
  close(ready[0]);
}

void Child::end() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace penstock
