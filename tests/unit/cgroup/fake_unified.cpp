#include "tests/unit/cgroup/fake_unified.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/text_scan.h"

namespace penstock {
namespace {

UniqueFd open_dir_of(const TempDir& dir) {
  return *CgroupFs::open_root(dir.path());
}

// "/a/b" from "a/b", "/a/b" or "//a/b"; "" is the root.
std::string tidy(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) out += "/" + std::string(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

std::string parent_of(const std::string& group) {
  return group.substr(0, group.rfind('/'));
}

}  // namespace

FakeUnified::FakeUnified()
    : fs_(open_dir_of(tree_), this, /*is_brokered=*/false),
      brokered_(open_dir_of(tree_), this, /*is_brokered=*/true),
      proc_(open_dir_of(proc_dir_)),
      sched_(this) {
  tree_.write("cgroup.controllers", "cpuset cpu io memory pids\n");
  tree_.write("cgroup.subtree_control", "cpuset cpu io memory pids\n");
  tree_.write("cpuset.cpus.effective", "0-3\n");
}

std::string FakeUnified::read(const std::string& path) const {
  return tree_.read(path.substr(path.starts_with('/') ? 1 : 0));
}

void FakeUnified::add_controller(const std::string& group,
                                 const std::string& name) {
  const auto file = [&](const char* file_name, const char* text) {
    tree_.write(group.substr(1) + "/" + file_name, text);
  };
  if (name == "cpuset") file("cpuset.cpus", "\n");
  if (name == "cpu") {
    file("cpu.weight", "100\n"), file("cpu.idle", "0\n");
    file("cpu.max", "max 100000\n");
  }
  if (name == "io") file("io.max", ""), file("io.stat", "");
}

void FakeUnified::remove_controller(const std::string& group,
                                    const std::string& name) {
  for (const char* file :
       {"cpuset.cpus", "cpu.weight", "cpu.idle", "cpu.max", "io.max"}) {
    if (!std::string_view(file).starts_with(name + ".")) continue;
    std::filesystem::remove(tree_.path() / group.substr(1) / file);
  }
}

void FakeUnified::make_files(const std::string& group) {
  const std::string parent = parent_of(group);
  const std::string enabled = read(parent + "/cgroup.subtree_control");
  const bool threaded = !parent.empty() && type_of(parent) != "domain";
  const auto file = [&](const char* name, const std::string& text) {
    tree_.write(group.substr(1) + "/" + name, text);
  };
  file("cgroup.type", threaded ? "domain invalid\n" : "domain\n");
  file("cgroup.controllers", enabled);
  file("cgroup.subtree_control", "\n");
  file("cgroup.events", "populated 1\n");
  file("cgroup.procs", "");
  file("cgroup.threads", "");
  file("cpu.stat", "usage_usec 7\nuser_usec 5\n");
  for (const char* name : {"cpu.pressure", "io.pressure"}) {
    file(name, "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  }
  for (const char* name : {"cpuset", "cpu", "io"}) {
    if (has_word(enabled, name)) add_controller(group, name);
  }
}

std::string FakeUnified::make_task(const std::string& job,
                                   const std::string& step, int task,
                                   const std::string& cpus) {
  std::string path;
  std::vector<std::string> names = scope_;
  for (const std::string& name :
       {job, step, std::string("user"), "task_" + std::to_string(task)}) {
    names.push_back(name);
  }
  for (const std::string& name : names) {
    path += "/" + name;
    if (fs_.exists(path)) continue;
    (void)fs_.make_dir(path);
    const bool has_cpus = name == job || name == "user";
    if (has_cpus) tree_.write(path.substr(1) + "/cpuset.cpus", cpus + "\n");
    if (name.starts_with("task_")) continue;
    // As systemd and Slurm leave it: without io below the scope.
    const bool is_above = path.find(".scope") == path.npos;
    (void)enable(
        path, is_above ? "+cpuset +cpu +io +memory" : "+cpuset +cpu +memory");
  }
  return path;
}

void FakeUnified::start(pid_t tid, pid_t pid, const std::string& group,
                        const CpuSet& affinity) {
  threads_[tid] = Thread{pid, 1000, group, affinity};
  write_proc(tid);
  if (pid != tid && threads_.contains(pid)) write_proc(pid);
}

void FakeUnified::end(pid_t tid) {
  const pid_t pid = threads_[tid].pid;
  std::filesystem::remove_all(proc_dir_.path() / std::to_string(pid) / "task" /
                              std::to_string(tid));
  threads_.erase(tid);
  std::filesystem::remove_all(proc_dir_.path() / std::to_string(tid));
  if (threads_.contains(pid)) write_proc(pid);
}

void FakeUnified::set_state(pid_t tid, char state) {
  threads_.at(tid).state = state;
  write_proc(tid);
}

void FakeUnified::set_schedstat(pid_t tid, uint64_t run_ns, uint64_t wait_ns) {
  proc_dir_.write(
      std::to_string(tid) + "/schedstat",
      std::to_string(run_ns) + " " + std::to_string(wait_ns) + " 1\n");
}

void FakeUnified::write_proc(pid_t tid) {
  const Thread& thread = threads_[tid];
  const std::string dir = std::to_string(tid) + "/";
  const auto count = std::count_if(
      threads_.begin(), threads_.end(),
      [&](const auto& entry) { return entry.second.pid == thread.pid; });
  proc_dir_.write(dir + "cgroup", "0::" + thread.group + "\n");
  proc_dir_.write(dir + "comm", "x\n");
  proc_dir_.write(std::to_string(thread.pid) + "/task/" + dir + "comm", "x\n");
  proc_dir_.write(dir + "stat",
                  std::to_string(tid) + " (x) " + thread.state +
                      " 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 " +
                      std::to_string(count) + " 0 " +
                      std::to_string(thread.starttime) +
                      " 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 2 0 0 0 0 0\n");
  proc_dir_.write(dir + "status", "Name:\tx\nTgid:\t" +
                                      std::to_string(thread.pid) +
                                      "\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
                                      "Cpus_allowed_list:\t0-3\n");
}

std::string FakeUnified::type_of(const std::string& group) const {
  std::string text = read(group + "/cgroup.type");
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// A threaded group's domain is its nearest ancestor that is not threaded.
std::string FakeUnified::domain_of(const std::string& group) const {
  std::string at = group;
  while (type_of(at) == "threaded") at = parent_of(at);
  return at;
}

bool FakeUnified::is_busy(const std::string& group) const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [&](const auto& it) { return it.second.group == group; });
}

bool FakeUnified::has_threads(const std::string& group) const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const auto& it) {
    return (it.second.group + "/").starts_with(group + "/");
  });
}

CpuSet FakeUnified::effective_cpus(const std::string& group) const {
  if (group.empty()) return CpuSet{{0, 1, 2, 3}};
  const CpuSet above = effective_cpus(parent_of(group));
  if (!fs_.exists(group + "/cpuset.cpus")) return above;
  const std::string text = read(group + "/cpuset.cpus");
  std::string_view rest = text;
  const auto own = CpuSet::parse(take_word(rest));
  const CpuSet left = own ? *own & above : CpuSet();
  return left.empty() ? above : left;
}

// The group itself, or the nearest one above whose cpuset it uses.
std::string FakeUnified::cpuset_of(const std::string& group) const {
  std::string at = group;
  while (!at.empty() && !fs_.exists(at + "/cpuset.cpus")) at = parent_of(at);
  return at;
}

// from, cpus: the cpuset that a thread leaves, and the CPUs that it had there.
void FakeUnified::note_attach(pid_t tid, const std::string& from,
                              const CpuSet& cpus, const std::string& to) {
  const bool is_main = threads_.at(tid).pid == tid;
  if (!is_main || cpuset_of(to) == from || effective_cpus(to) == cpus) return;
  locking_.push_back(std::to_string(tid) + ": " + from + " to " + to);
}

bool FakeUnified::has_mark(const std::string& group) const {
  const auto found = marks_.find(group);
  return found != marks_.end() && !found->second.empty();
}

void FakeUnified::fail(const std::string& operation, const std::string& where,
                       int error_number) {
  failures_.push_back({operation, where, error_number});
}

Status FakeUnified::failure(const std::string& operation,
                            std::string_view where) const {
  for (const Failure& failure : failures_) {
    if (failure.operation == operation &&
        where.find(failure.where) != where.npos) {
      return system_error(failure.error_number, std::string(where));
    }
  }
  return Done{};
}

// "+cpu -io" into a group's cgroup.subtree_control.
Status FakeUnified::enable(const std::string& group, std::string_view words) {
  const std::string file = group.substr(1) + "/cgroup.subtree_control";
  const bool is_domain = type_of(group) == "domain";
  for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
    const std::string name(word.substr(1));
    std::string now = tree_.read(file);
    if (word[0] == '+') {
      if (!has_word(read(group + "/cgroup.controllers"), name)) {
        return system_error(ENOENT, file);
      }
      if (is_domain && is_busy(group)) return system_error(EBUSY, file);
      if (!is_domain && name != "cpu" && name != "cpuset") {
        return system_error(EOPNOTSUPP, file);
      }
      tree_.write(file, has_word(now, name) ? now : name + " " + now);
    } else if (has_word(now, name)) {
      for (const std::string& child : *fs_.list_dirs(group)) {
        if (has_word(read(group + "/" + child + "/cgroup.subtree_control"),
                     name)) {
          return system_error(EBUSY, file);
        }
      }
      std::string rest;
      std::string_view left = now;
      for (auto next = take_word(left); !next.empty(); next = take_word(left)) {
        if (next != name) rest += std::string(next) + " ";
      }
      tree_.write(file, rest + "\n");
    }
    auto children = fs_.list_dirs(group);
    for (const std::string& child : *children) {
      const std::string below = group + "/" + child;
      const std::string cpuset = cpuset_of(below);
      const CpuSet cpus = effective_cpus(below);
      tree_.write(below.substr(1) + "/cgroup.controllers", tree_.read(file));
      if (word[0] == '+') add_controller(below, name);
      if (word[0] == '-') remove_controller(below, name);
      for (const auto& [tid, thread] : threads_) {
        if (thread.group == below) note_attach(tid, cpuset, cpus, below);
      }
    }
  }
  return Done{};
}

Status FakeUnified::move(pid_t tid, const std::string& group,
                         bool whole_process) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return system_error(ESRCH, group);
  if (type_of(group) == "domain invalid")
    return system_error(EOPNOTSUPP, group);
  if (!whole_process && domain_of(group) != domain_of(found->second.group)) {
    return system_error(EOPNOTSUPP, group);
  }
  const pid_t pid = found->second.pid;
  for (auto& [other, thread] : threads_) {
    const bool moves = whole_process ? thread.pid == pid : other == tid;
    if (!moves || thread.is_exiting) continue;
    note_attach(other, cpuset_of(thread.group), effective_cpus(thread.group),
                group);
    thread.group = group;
    if (forgets_masks_) thread.affinity = effective_cpus(group);
    write_proc(other);
  }
  return Done{};
}

Status FakeUnified::Fs::make_dir(std::string_view path) const {
  Status failed = machine_->failure("mkdir", path);
  if (failed) failed = admits(machine_->rules_.may_make(path));
  if (!failed) return failed;
  const bool there = exists(path);
  Status made = CgroupFs::make_dir(path);
  if (made && !there) machine_->make_files(tidy(path));
  return made;
}

Status FakeUnified::Fs::remove_dir(std::string_view path) const {
  Status failed = machine_->failure("rmdir", path);
  if (failed) failed = admits(machine_->rules_.may_remove(path));
  if (!failed) return failed;
  const std::string group = tidy(path);
  if (!exists(group)) return Done{};
  auto dirs = list_dirs(group);
  if (machine_->is_busy(group) || !dirs || !dirs->empty()) {
    return system_error(EBUSY, group);
  }
  std::filesystem::remove_all(machine_->tree_.path() / group.substr(1));
  machine_->marks_.erase(group);
  // The last threaded child makes its parent a plain domain again.
  const std::string parent = parent_of(group);
  auto left = list_dirs(parent);
  if (left && left->empty() && machine_->type_of(parent) == "domain threaded") {
    machine_->tree_.write(parent.substr(1) + "/cgroup.type", "domain\n");
  }
  return Done{};
}

Status FakeUnified::Fs::check_writable(std::string_view path) const {
  Status failed = machine_->failure("access", path);
  return failed ? admits(machine_->rules_.may_write(path, "")) : failed;
}

Status FakeUnified::may_move(std::string_view file, pid_t tid) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return Done{};
  return rules_.may_move(
      {{"", found->second.group}}, file,
      [this](const std::string& group) { return fs_.exists(group); });
}

Result<std::string> FakeUnified::Fs::read_file(std::string_view path) const {
  Status failed = machine_->failure("read", path);
  if (!failed) return failed.error();
  const std::string file = tidy(path);
  const std::string group = parent_of(file);
  if (file.ends_with("/cpuset.cpus.effective")) {
    return machine_->effective_cpus(group).to_string() + "\n";
  }
  if (file.ends_with("/cgroup.threads") && exists(file)) {
    std::string text;
    for (const auto& [tid, thread] : machine_->threads_) {
      if (thread.group == group) text += std::to_string(tid) + "\n";
    }
    return text;
  }
  return CgroupFs::read_file(path);
}

Status FakeUnified::Fs::write_file(std::string_view path,
                                   std::string_view text) const {
  Status failed = machine_->failure("write", path);
  if (!failed) return failed;
  const std::string file = tidy(path);
  if (machine_->before_write) machine_->before_write(file);
  if (!exists(file)) return system_error(ENOENT, file);
  const std::string group = parent_of(file);
  const std::string name = file.substr(group.size() + 1);
  if (name == "cgroup.threads" || name == "cgroup.procs") {
    pid_t tid = 0;
    std::from_chars(text.data(), text.data() + text.size(), tid);
    const Status may = admits(machine_->may_move(path, tid));
    return may ? machine_->move(tid, group, name == "cgroup.procs") : may;
  }
  const Status may = admits(machine_->rules_.may_write(path, text));
  if (!may) return may;
  if (name == "cgroup.subtree_control") return machine_->enable(group, text);
  if (name == "cgroup.type") {
    const std::string parent = parent_of(group);
    machine_->tree_.write(file.substr(1), "threaded\n");
    if (machine_->type_of(parent) == "domain") {
      machine_->tree_.write(parent.substr(1) + "/cgroup.type",
                            "domain threaded\n");
    }
    return Done{};
  }
  const bool is_filled = name == "cpuset.cpus" && machine_->read(file) != "\n";
  if (is_filled && text == "\n" && machine_->has_threads(group)) {
    return system_error(ENOSPC, file);
  }
  return CgroupFs::write_file(path, text);
}

Result<std::vector<std::string>> FakeUnified::Fs::list_dirs(
    std::string_view path) const {
  Status failed = machine_->failure("list", path);
  if (!failed) return failed.error();
  return CgroupFs::list_dirs(path);
}

Result<std::string> FakeUnified::Fs::read_mark(std::string_view path,
                                               const std::string& name) const {
  Status failed = machine_->failure("read mark", path);
  if (failed) failed = admits(machine_->rules_.may_mark(path, name));
  if (!failed) return failed.error();
  const auto& marks = machine_->marks_[tidy(path)];
  const auto found = marks.find(name);
  if (found != marks.end()) return found->second;
  return Error{Code::kNotFound, ENODATA, "no mark"};
}

Status FakeUnified::Fs::write_mark(std::string_view path,
                                   const std::string& name,
                                   const std::string& text) const {
  Status failed = machine_->failure("mark", path);
  if (failed) failed = admits(machine_->rules_.may_mark(path, name));
  if (!failed) return failed;
  if (!exists(path)) return system_error(ENOENT, std::string(path));
  machine_->marks_[tidy(path)][name] = text;
  return Done{};
}

Status FakeUnified::Fs::remove_mark(std::string_view path,
                                    const std::string& name) const {
  const Status may = admits(machine_->rules_.may_mark(path, name));
  if (!may) return may;
  machine_->marks_[tidy(path)].erase(name);
  return Done{};
}

Result<CpuSet> FakeUnified::Sched::affinity(pid_t tid) const {
  const auto found = machine_->threads_.find(tid);
  if (found == machine_->threads_.end()) {
    return system_error(ESRCH, std::to_string(tid));
  }
  return found->second.affinity;
}

Status FakeUnified::Sched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  const auto found = machine_->threads_.find(tid);
  if (found == machine_->threads_.end()) {
    return system_error(ESRCH, std::to_string(tid));
  }
  Status failed = machine_->failure("affinity", std::to_string(tid));
  if (!failed) return failed;
  const CpuSet left = cpus & machine_->effective_cpus(found->second.group);
  if (left.empty()) return system_error(EINVAL, "affinity");
  found->second.affinity = left;
  return Done{};
}

Status FakeUnified::Sched::set_widest_affinity(pid_t tid) const {
  return set_affinity(tid, CpuSet{{0, 1, 2, 3}});
}

}  // namespace penstock
