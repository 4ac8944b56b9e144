#include "tests/unit/cgroup/fake_machine.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace penstock {
namespace {

UniqueFd open_dir_of(const TempDir& dir) {
  return *CgroupFs::open_root(dir.path());
}

// "cpuset/penstock/job_1/tasks" -> "cpuset/penstock/job_1", "tasks".
std::pair<std::string, std::string> split_last(std::string_view path) {
  size_t slash = path.rfind('/');
  return {std::string(path.substr(0, slash)),
          std::string(path.substr(slash + 1))};
}

}  // namespace

FakeMachine::FakeMachine(bool cpu_with_cpuacct)
    : fs_(open_dir_of(tree_), this),
      proc_(open_dir_of(proc_dir_)),
      sched_(this) {
  std::string cpu = cpu_with_cpuacct ? "cpu,cpuacct" : "cpu";
  std::string cpuacct = cpu_with_cpuacct ? "cpu,cpuacct" : "cpuacct";
  mounts_.path_of = {{"cpu", cpu},
                     {"cpuacct", cpuacct},
                     {"cpuset", "cpuset"},
                     {"blkio", "blkio"},
                     {"freezer", "freezer"}};
  for (const auto& [controller, mount] : mounts_.path_of) {
    std::filesystem::create_directory(tree_.path() / mount);
    make_control_files(mount);
    if (std::find(hierarchies_.begin(), hierarchies_.end(), mount) ==
        hierarchies_.end()) {
      hierarchies_.push_back(mount);
    }
  }
  tree_.write("cpuset/cpuset.cpus", "0-3\n");
  tree_.write("cpuset/cpuset.mems", "0\n");
  proc_dir_.write("sys/kernel/sched_autogroup_enabled", "1\n");
}

void FakeMachine::make_control_files(const std::string& path) {
  std::string mount = path.substr(0, path.find('/'));
  auto file = [&](const char* name, const char* text) {
    tree_.write(path + "/" + name, text);
  };
  file("tasks", "");
  file("cgroup.procs", "");
  if (mount == "cpuset") {
    file("cpuset.cpus", "\n"), file("cpuset.mems", "\n");
    file("cpuset.memory_migrate", "0\n");
  }
  if (mount.starts_with("cpu") && mount != "cpuset" && mount != "cpuacct") {
    file("cpu.idle", "0\n"), file("cpu.shares", "1024\n");
    file("cpu.cfs_period_us", "100000\n"), file("cpu.cfs_quota_us", "-1\n");
  }
  if (mount.ends_with("cpuacct")) {
    file("cpuacct.usage", "0\n"), file("cpuacct.usage_percpu", "0 0 0 0 \n");
  }
  if (mount == "blkio") {
    file("blkio.throttle.read_bps_device", "");
    file("blkio.throttle.io_service_bytes", "Total 0\n");
  }
}

void FakeMachine::make_slurm_group(const std::string& group,
                                   const std::string& cpus) {
  for (const char* controller : {"cpuset", "cpuacct", "freezer"}) {
    std::string path = mounts_.path_of[controller] + group;
    std::filesystem::create_directories(tree_.path() / path);
    make_control_files(path);
  }
  tree_.write("cpuset" + group + "/cpuset.cpus", cpus);
  tree_.write("cpuset" + group + "/cpuset.mems", "0\n");
}

void FakeMachine::start(pid_t tid, pid_t pid, pid_t ppid, uint64_t starttime) {
  Thread thread{pid, ppid, starttime, {}, CpuSet{{0, 1, 2, 3}}, {}};
  for (const std::string& mount : hierarchies_) {
    thread.groups[mount] = "/";
    tree_.write(mount + "/tasks",
                tree_.read(mount + "/tasks") + std::to_string(tid) + "\n");
  }
  threads_[tid] = thread;
  write_proc(tid);
}

void FakeMachine::end(pid_t tid) {
  for (const auto& [mount, group] : threads_[tid].groups) {
    std::string file = mount + group + "/tasks";
    std::string text = tree_.read(file);
    text.erase(text.find(std::to_string(tid) + "\n"),
               std::to_string(tid).size() + 1);
    tree_.write(file, text);
  }
  threads_.erase(tid);
  std::filesystem::remove_all(proc_dir_.path() / std::to_string(tid));
}

void FakeMachine::write_proc(pid_t tid) {
  const Thread& thread = threads_[tid];
  std::string dir = std::to_string(tid) + "/";
  std::string cgroup;
  int number = 1;
  for (const auto& [mount, group] : thread.groups) {
    cgroup += std::to_string(number++) + ":" + mount + ":" + group + "\n";
  }
  proc_dir_.write(dir + "cgroup", cgroup);
  proc_dir_.write(dir + "stat",
                  std::to_string(tid) + " (x) S " +
                      std::to_string(thread.ppid) +
                      " 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 " +
                      std::to_string(thread.starttime) +
                      " 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 2 0 0 0 0 0\n");
  proc_dir_.write(dir + "status", "Name:\tx\nTgid:\t" +
                                      std::to_string(thread.pid) +
                                      "\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
                                      "Cpus_allowed_list:\t0-3\n");
}

void FakeMachine::place(pid_t tid, const std::string& controller,
                        const std::string& group) {
  (void)move(tid, mounts_.path_of[controller] + group);
}

std::string FakeMachine::group_of(pid_t tid,
                                  const std::string& controller) const {
  return threads_.at(tid).groups.at(mounts_.path_of.find(controller)->second);
}

CpuSet FakeMachine::cpus_of(const std::string& cpuset_group) const {
  return *CpuSet::parse(tree_.read("cpuset" + cpuset_group + "/cpuset.cpus"));
}

// path: a group with its mount. Follows the kernel's rules for moves.
Status FakeMachine::move(pid_t tid, const std::string& path) {
  auto thread = find(tid);
  if (!thread) return thread.error();
  std::string mount = path.substr(0, path.find('/'));
  std::string group = path.substr(mount.size());
  if (group.empty()) group = "/";
  if (mount == "cpuset" && cpus_of(group).empty()) {
    return system_error(ENOSPC, path);
  }
  std::string old = mount + (*thread)->groups[mount] + "/tasks";
  std::string line = std::to_string(tid) + "\n";
  std::string text = tree_.read(old);
  tree_.write(old, text.erase(text.find(line), line.size()));
  tree_.write(path + "/tasks", tree_.read(path + "/tasks") + line);
  (*thread)->groups[mount] = group;
  if (mount == "cpuset") {  // a mask without a CPU of the cpuset is dropped
    CpuSet left = (*thread)->affinity & cpus_of(group);
    (*thread)->affinity = left.empty() ? cpus_of(group) : left;
  }
  write_proc(tid);
  return Done{};
}

void FakeMachine::fail(const std::string& operation, const std::string& where,
                       int error_number) {
  failures_.push_back({operation, where, error_number});
}

Status FakeMachine::failure(const std::string& operation,
                            std::string_view where) const {
  for (const Failure& failure : failures_) {
    if (failure.operation == operation &&
        where.find(failure.where) != where.npos) {
      return failure.error_number == 0
                 ? Error{Code::kIo, 0, "short " + operation}
                 : system_error(failure.error_number, std::string(where));
    }
  }
  return Done{};
}

Result<FakeMachine::Thread*> FakeMachine::find(pid_t tid) {
  auto it = threads_.find(tid);
  if (it == threads_.end()) return system_error(ESRCH, std::to_string(tid));
  return &it->second;
}

Status FakeMachine::Fs::make_dir(std::string_view path) const {
  Status failed = machine_->failure("mkdir", path);
  if (!failed) return failed;
  bool there = exists(path);
  Status made = CgroupFs::make_dir(path);
  if (made && !there) machine_->make_control_files(std::string(path));
  return made;
}

Status FakeMachine::Fs::remove_dir(std::string_view path) const {
  Status failed = machine_->failure("rmdir", path);
  if (!failed) return failed;
  if (!exists(path)) return Done{};
  auto dirs = CgroupFs::list_dirs(path);
  std::string tasks = machine_->tree_.read(std::string(path) + "/tasks");
  if (!tasks.empty() || !dirs || !dirs->empty()) {
    return system_error(EBUSY, std::string(path));
  }
  std::filesystem::remove_all(machine_->tree_.path() / path);
  return Done{};
}

Result<std::string> FakeMachine::Fs::read_file(std::string_view path) const {
  Status failed = machine_->failure("read", path);
  if (!failed) return failed.error();
  const auto [group, file] = split_last(path);
  return CgroupFs::read_file(
      file == "cpuset.effective_mems" ? group + "/cpuset.mems" : path);
}

Status FakeMachine::Fs::write_file(std::string_view path,
                                   std::string_view text) const {
  Status done = machine_->failure("write", path);
  if (!done) return done;
  auto [group, file] = split_last(path);
  if (!exists(path)) return system_error(ENOENT, std::string(path));
  if (file == "tasks" || file == "cgroup.procs") {
    pid_t tid = 0;
    std::from_chars(text.data(), text.data() + text.size(), tid);
    done = machine_->move(tid, group);
  } else {
    done = CgroupFs::write_file(path, text);
  }
  if (done) {
    machine_->writes_.push_back(std::string(path) + "=" + std::string(text));
  }
  return done;
}

Result<std::vector<std::string>> FakeMachine::Fs::list_dirs(
    std::string_view path) const {
  Status failed = machine_->failure("list", path);
  if (!failed) return failed.error();
  return CgroupFs::list_dirs(path);
}

Result<CpuSet> FakeMachine::Sched::affinity(pid_t tid) const {
  auto thread = machine_->find(tid);
  if (!thread) return thread.error();
  return (*thread)->affinity;
}

Status FakeMachine::Sched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  auto thread = machine_->find(tid);
  if (!thread) return thread.error();
  Status failed = machine_->failure("affinity", std::to_string(tid));
  if (!failed) return failed;
  CpuSet left = cpus & machine_->cpus_of((*thread)->groups["cpuset"]);
  if (left.empty()) return system_error(EINVAL, "affinity");
  (*thread)->affinity = left;
  return Done{};
}

Status FakeMachine::Sched::set_widest_affinity(pid_t tid) const {
  return set_affinity(tid, CpuSet{{0, 1, 2, 3}});
}

Result<SchedPolicy> FakeMachine::Sched::policy(pid_t tid) const {
  auto thread = machine_->find(tid);
  if (!thread) return thread.error();
  return (*thread)->policy;
}

Status FakeMachine::Sched::set_policy(pid_t tid,
                                      const SchedPolicy& policy) const {
  auto thread = machine_->find(tid);
  if (!thread) return thread.error();
  Status failed = machine_->failure("policy", std::to_string(tid));
  if (failed) (*thread)->policy = policy;
  return failed;
}

}  // namespace penstock
