#include "tests/model/kernel.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

namespace penstock::model {
namespace {

constexpr pid_t kFirstPid = 1000;
// Few numbers, so that they are soon another's.
constexpr uint64_t kNumbers = 400;

bool is_away(const Thread& thread) {
  return thread.groups.at("cpuset").starts_with("/penstock");
}

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

CpuSet Kernel::all_cpus() {
  return *CpuSet::parse("0-" + std::to_string(kCpus - 1));
}

Kernel::Kernel(Trial& trial, bool cpu_with_cpuacct)
    : trial_(trial),
      fs_(files_.open_groups(), this),
      sched_(this),
      proc_(files_.open_proc()) {
  const std::string cpu = cpu_with_cpuacct ? "cpu,cpuacct" : "cpu";
  mounts_.path_of = {{"cpu", cpu},
                     {"cpuacct", cpu_with_cpuacct ? cpu : "cpuacct"},
                     {"cpuset", "cpuset"},
                     {"blkio", "blkio"},
                     {"freezer", "freezer"}};
  std::set<std::string> mounted;
  for (const auto& [controller, mount] : mounts_.path_of) mounted.insert(mount);
  hierarchies_.assign(mounted.begin(), mounted.end());
  for (const std::string& hierarchy : hierarchies_) make_group(hierarchy);
  groups_.at("cpuset").files["cpuset.cpus"] = all_cpus().to_string();
  groups_.at("cpuset").files["cpuset.mems"] = "0";
}

void Kernel::make_group(const std::string& path) {
  std::map<std::string, std::string>& files = groups_[path].files;
  const std::string hierarchy = path.substr(0, path.find('/'));
  if (hierarchy == "cpuset") {
    files = {{"cpuset.cpus", ""},
             {"cpuset.mems", ""},
             {"cpuset.effective_mems", "0"},
             {"cpuset.memory_migrate", "0"}};
  }
  if (hierarchy == "cpu" || hierarchy == "cpu,cpuacct") {
    files = {{"cpu.idle", "0"},
             {"cpu.shares", "1024"},
             {"cpu.cfs_period_us", "100000"},
             {"cpu.cfs_quota_us", "-1"}};
  }
  if (hierarchy.ends_with("cpuacct")) files["cpuacct.usage"] = "0";
  if (hierarchy == "freezer") files["freezer.state"] = "THAWED";
  if (hierarchy == "blkio") {
    files = {{"blkio.throttle.read_bps_device", ""},
             {"blkio.throttle.io_service_bytes", "Total 0"}};
  }
}

std::string Kernel::group_of(const Thread& thread,
                             const char* controller) const {
  return thread.groups.at(mounts_.path_of.find(controller)->second);
}

CpuSet Kernel::cpus_of(const std::string& cpuset_group) const {
  return *CpuSet::parse(
      groups_.at("cpuset" + cpuset_group).files.at("cpuset.cpus"));
}

// --- Slurm's groups

void Kernel::make_slurm_group(const std::string& path, const CpuSet& cpus) {
  for (const char* controller : {"cpuset", "cpuacct", "freezer"}) {
    const std::string group = mounts_.path_of.find(controller)->second + path;
    if (!groups_.contains(group)) make_group(group);
  }
  files_.make_group("cpuset" + path);
  groups_.at("cpuset" + path).files["cpuset.cpus"] = cpus.to_string();
}

bool Kernel::remove_slurm_group(const std::string& path) {
  const std::vector<std::string> groups = {
      "cpuset" + path, mounts_.path_of.find("cpuacct")->second + path,
      "freezer" + path};
  for (const std::string& group : groups) {
    const auto next = groups_.upper_bound(group);
    const bool has_child =
        next != groups_.end() && next->first.starts_with(group + "/");
    if (!groups_.at(group).tids.empty() || has_child) return false;
  }
  for (const std::string& group : groups) groups_.erase(group);
  files_.remove_group("cpuset" + path);
  return true;
}

void Kernel::freeze(const std::string& path, bool is_frozen) {
  const auto group = groups_.find("freezer" + path);
  if (group == groups_.end()) return;
  group->second.files["freezer.state"] = is_frozen ? "FROZEN" : "THAWED";
}

// --- Threads

pid_t Kernel::free_number() {
  pid_t tid;
  do {
    tid = kFirstPid + pid_t(trial_.below(kNumbers));
  } while (threads_.contains(tid));
  return tid;
}

pid_t Kernel::add(Thread thread, pid_t tid) {
  thread.starttime = ++starttime_;
  thread.run_ns = thread.wait_ns = 0;
  thread.is_unsure = thread.is_unsure || is_away(thread);
  for (const auto& [hierarchy, path] : thread.groups) {
    groups_.at(hierarchy + (path == "/" ? "" : path)).tids.insert(tid);
  }
  const pid_t pid = thread.pid;
  threads_[tid] = std::move(thread);
  files_.add(tid, pid);
  narrow(threads_.at(tid));
  rename(tid, threads_.at(tid).comm);
  write_cgroup_file(tid);
  const Thread& added = threads_.at(tid);
  files_.write(tid, "status",
               fmt::format("Name:\tx\nTgid:\t{0}\nUid:\t{1}\t{1}\t{1}\t{1}\n"
                           "Gid:\t{1}\t{1}\t{1}\t{1}\n",
                           pid, added.uid));
  return tid;
}

void Kernel::write_cgroup_file(pid_t tid) {
  std::string text;
  int number = 1;
  for (const auto& [hierarchy, path] : threads_.at(tid).groups) {
    text += fmt::format("{}:{}:{}\n", number++, hierarchy, path);
  }
  files_.write(tid, "cgroup", text);
}

pid_t Kernel::start_process(uid_t uid, const std::string& slurm_group) {
  Thread thread;
  const pid_t pid = free_number();
  thread.pid = pid;
  thread.ppid = 1;
  thread.uid = uid;
  thread.comm = "python3";
  for (const std::string& hierarchy : hierarchies_) {
    const bool is_slurms = hierarchy == "cpuset" || hierarchy == "freezer" ||
                           hierarchy.ends_with("cpuacct");
    thread.groups[hierarchy] = is_slurms ? slurm_group : "/";
  }
  return add(std::move(thread), pid);
}

pid_t Kernel::fork(pid_t parent) {
  Thread thread = threads_.at(parent);
  thread.ppid = thread.pid;
  thread.pid = free_number();
  const pid_t pid = add(thread, thread.pid);
  std::string children;
  for (const auto& [tid, other] : threads_) {
    if (tid == other.pid && other.ppid == thread.ppid) {
      children += fmt::format("{} ", tid);
    }
  }
  files_.write_children(thread.ppid, children);
  return pid;
}

pid_t Kernel::start_thread(pid_t pid) {
  return add(threads_.at(pid), free_number());
}

void Kernel::end_thread(pid_t tid) {
  if (!threads_.contains(tid)) return;
  if (is_process(tid)) return end_process(tid);
  const Thread thread = threads_.at(tid);
  for (const auto& [hierarchy, path] : thread.groups) {
    groups_.at(hierarchy + (path == "/" ? "" : path)).tids.erase(tid);
  }
  threads_.erase(tid);
  files_.remove(tid, thread.pid);
}

void Kernel::end_process(pid_t pid) {
  const pid_t parent = threads_.at(pid).ppid;
  for (pid_t tid : threads_of(pid)) {
    if (tid != pid) end_thread(tid);
  }
  for (auto& [tid, thread] : threads_) {
    if (thread.ppid == pid) thread.ppid = 1;
    if (thread.ppid == 1 && tid == thread.pid) rename(tid, thread.comm);
  }
  for (const auto& [hierarchy, path] : threads_.at(pid).groups) {
    groups_.at(hierarchy + (path == "/" ? "" : path)).tids.erase(pid);
  }
  threads_.erase(pid);
  files_.remove(pid, pid);
  if (threads_.contains(parent)) {
    std::string children;
    for (const auto& [tid, other] : threads_) {
      if (tid == other.pid && other.ppid == parent) {
        children += fmt::format("{} ", tid);
      }
    }
    files_.write_children(parent, children);
  }
  const auto [first, last] = pidfds_.equal_range(pid);
  for (auto it = first; it != last; ++it) ::eventfd_write(it->second.get(), 1);
  pidfds_.erase(first, last);
}

bool Kernel::is_process(pid_t pid) const {
  const auto found = threads_.find(pid);
  return found != threads_.end() && found->second.pid == pid;
}

std::vector<pid_t> Kernel::threads_of(pid_t pid) const {
  std::vector<pid_t> tids;
  for (const auto& [tid, thread] : threads_) {
    if (thread.pid == pid) tids.push_back(tid);
  }
  return tids;
}

int Kernel::open_pidfd(pid_t pid) {
  if (!is_process(pid)) return -1;
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  pidfds_.emplace(pid, UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  return fd;
}

void Kernel::rename(pid_t tid, const std::string& comm) {
  Thread& thread = threads_.at(tid);
  thread.comm = comm;
  files_.write(tid, "comm", comm + "\n");
  set_state(tid, thread.state);
}

void Kernel::set_state(pid_t tid, char state) {
  Thread& thread = threads_.at(tid);
  thread.state = state;
  files_.write(tid, "stat",
               fmt::format("{} ({}) {} {} 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 "
                           "{} 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 {} 0 0 0 0 0\n",
                           tid, thread.comm, state, thread.ppid,
                           thread.starttime, thread.cpu));
}

void Kernel::run(pid_t tid, uint64_t run_ns, uint64_t wait_ns) {
  Thread& thread = threads_.at(tid);
  thread.run_ns += run_ns;
  thread.wait_ns += wait_ns;
  files_.write_schedstat(tid, thread.run_ns, thread.wait_ns);
}

// --- Calls

Status Kernel::fault(const char* call, std::string_view where) {
  if (faults_one_in_ == 0) return Done{};
  if (trial_.one_in(8 * faults_one_in_) && !threads_.empty()) {
    auto victim = threads_.begin();
    std::advance(victim, long(trial_.below(threads_.size())));
    trial_.did("thread {} ends within {}", victim->first, call);
    end_thread(victim->first);
  }
  if (!trial_.one_in(faults_one_in_)) return Done{};
  // Slurm alone removes groups, its own ones, while penstockd uses them. A read
  // finds a group in which there are threads.
  static const std::vector<int> kErrors = {EBUSY, EPERM, ENOSPC, ENOENT};
  const bool may_vanish = where.find("/slurm") != where.npos;
  const bool is_read =
      std::string_view(call) == "read" || std::string_view(call) == "list";
  const int error = kErrors[trial_.below(is_read ? 2 : may_vanish ? 4 : 3)];
  trial_.did("{} {} fails with {}", call, where, error);
  return system_error(error, std::string(where));
}

// A failed call may leave the thread, and its process, in another group or with
// another mask than its own.
void Kernel::note_displaced(pid_t tid_of_call) {
  const auto found = threads_.find(tid_of_call);
  if (found == threads_.end()) return;
  for (pid_t tid : threads_of(found->second.pid)) {
    threads_.at(tid).is_displaced = true;
  }
}

Result<Thread*> Kernel::find(pid_t tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return system_error(ESRCH, std::to_string(tid));
  return &found->second;
}

void Kernel::place(pid_t tid, const std::string& hierarchy,
                   const std::string& path) {
  Thread& thread = threads_.at(tid);
  std::string& now = thread.groups.at(hierarchy);
  groups_.at(hierarchy + (now == "/" ? "" : now)).tids.erase(tid);
  now = path.empty() ? "/" : path;
  groups_.at(hierarchy + path).tids.insert(tid);
  if (hierarchy == "cpuset") narrow(thread);
  write_cgroup_file(tid);
}

Status Kernel::move(const std::string& text, const std::string& group,
                    bool whole) {
  Result<Thread*> thread = find(pid_t(std::atoi(text.c_str())));
  if (!thread) return thread.error();
  const std::string hierarchy = group.substr(0, group.find('/'));
  if (hierarchy == "cpuset" &&
      groups_.at(group).files.at("cpuset.cpus").empty()) {
    return system_error(ENOSPC, group);
  }
  const std::string path = group.substr(hierarchy.size());
  const std::vector<pid_t> tids =
      whole ? threads_of((*thread)->pid)
            : std::vector<pid_t>{pid_t(std::atoi(text.c_str()))};
  for (pid_t tid : tids) place(tid, hierarchy, path);
  return Done{};
}

// As sched_setaffinity(2) and cpusets since Linux 6.2: the wanted CPUs are
// kept, and used as far as the cpuset has them.
void Kernel::narrow(Thread& thread) {
  const CpuSet cpus = cpus_of(
      thread.groups.at("cpuset") == "/" ? "" : thread.groups.at("cpuset"));
  const CpuSet left = thread.wanted ? *thread.wanted & cpus : cpus;
  thread.affinity = left.empty() ? cpus : left;
}

Status Kernel::set_mask(pid_t tid, const CpuSet& cpus) {
  Result<Thread*> thread = find(tid);
  if (!thread) return thread.error();
  const std::string& group = (*thread)->groups.at("cpuset");
  if ((cpus & cpus_of(group == "/" ? "" : group)).empty()) {
    return system_error(EINVAL, "affinity");
  }
  (*thread)->wanted = cpus;
  narrow(**thread);
  return Done{};
}

void Kernel::choose_mask(pid_t tid, const CpuSet& cpus) {
  if (!set_mask(tid, cpus)) return;
  Thread& thread = threads_.at(tid);
  thread.chosen = cpus;
  thread.is_unsure = thread.is_unsure || is_away(thread);
}

void Kernel::note_forgotten() {
  for (auto& [tid, thread] : threads_) {
    thread.is_unsure = thread.is_unsure || is_away(thread);
  }
}

Status Kernel::set_cpus(const std::string& group, std::string_view text) {
  const Result<CpuSet> cpus = CpuSet::parse(text);
  if (!cpus) return system_error(EINVAL, group);
  const CpuSet parents =
      *CpuSet::parse(groups_.at(parent_of(group)).files.at("cpuset.cpus"));
  if (!(*cpus - parents).empty()) return system_error(EACCES, group);
  Group& changed = groups_.at(group);
  if (cpus->empty() && !changed.tids.empty()) {
    return system_error(ENOSPC, group);
  }
  changed.files["cpuset.cpus"] = cpus->to_string();
  for (pid_t tid : changed.tids) narrow(threads_.at(tid));
  return Done{};
}

}  // namespace penstock::model
