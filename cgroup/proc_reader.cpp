#include "cgroup/proc_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <unordered_set>
#include <utility>

#include "cgroup/cgroup_fs.h"
#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr size_t kMaxProcBytes = 64 << 10;
constexpr size_t kMaxChildrenBytes = 1 << 20;

std::string proc_path(pid_t id, const char* file) {
  return std::to_string(id) + "/" + file;
}

Result<UniqueFd> open_proc(int root, const std::string& path, int flags) {
  UniqueFd fd(openat(root, path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error(errno, "cannot open /proc/" + path);
  return fd;
}

template <class T>
Result<T> parsed(Result<std::string> text, Result<T> (*parse)(std::string_view),
                 pid_t id) {
  if (!text) return text.error();
  auto value = parse(*text);
  if (!value) {
    return std::move(value.error()).wrap("process " + std::to_string(id));
  }
  return value;
}

}  // namespace

Result<SchedStat> SchedstatFile::read() const {
  char buffer[96];  // three numbers of at most 20 digits
  ssize_t n = pread(fd_.get(), buffer, sizeof buffer, 0);
  if (n < 0) return system_error(errno, "cannot read schedstat");
  return parse_schedstat({buffer, static_cast<size_t>(n)});
}

Result<char> ThreadStatFile::state() const {
  char buffer[1024];  // some 50 numbers and a name of 15 bytes
  ssize_t n = pread(fd_.get(), buffer, sizeof buffer, 0);
  if (n < 0) return system_error(errno, "cannot read stat");
  auto stat = parse_stat({buffer, static_cast<size_t>(n)});
  if (!stat) return stat.error();
  return stat->state;
}

Result<ProcReader> ProcReader::open() {
  auto root = CgroupFs::open_root("/proc");
  if (!root) return root.error();
  return ProcReader(std::move(*root));
}

Result<std::string> ProcReader::read(pid_t id, const char* file) const {
  std::string path = proc_path(id, file);
  auto fd = open_proc(root_.get(), path, O_RDONLY);
  if (!fd) return fd.error();
  return read_all(fd->get(), kMaxProcBytes, "/proc/" + path);
}

Result<TaskId> ProcReader::identity(pid_t id) const {
  auto now = stat(id);
  if (!now) return now.error();
  if (now->dead()) {
    return system_error(ESRCH, "process " + std::to_string(id));
  }
  return TaskId{id, now->starttime_ticks};
}

Status ProcReader::verify(const TaskId& task) const {
  auto now = identity(task.tid);
  if (!now) return now.error();
  if (task.starttime_ticks != 0 && *now != task) {
    return Error{Code::kNotFound, 0,
                 "thread " + std::to_string(task.tid) +
                     " has ended and its number is another thread's now"};
  }
  return Done{};
}

Result<ProcCgroups> ProcReader::cgroups(pid_t id) const {
  return parsed(read(id, "cgroup"), parse_proc_cgroup, id);
}

Result<ProcStat> ProcReader::stat(pid_t id) const {
  return parsed(read(id, "stat"), parse_stat, id);
}

Result<SchedStat> ProcReader::schedstat(pid_t id) const {
  return parsed(read(id, "schedstat"), parse_schedstat, id);
}

Result<SchedstatFile> ProcReader::open_schedstat(pid_t id) const {
  auto fd = open_proc(root_.get(), proc_path(id, "schedstat"), O_RDONLY);
  if (!fd) return fd.error();
  return SchedstatFile(std::move(*fd));
}

Result<ThreadStatFile> ProcReader::open_stat(pid_t id) const {
  auto fd = open_proc(root_.get(), proc_path(id, "stat"), O_RDONLY);
  if (!fd) return fd.error();
  return ThreadStatFile(std::move(*fd));
}

Result<ProcStatus> ProcReader::status(pid_t id) const {
  return parsed(read(id, "status"), parse_status, id);
}

Result<uint64_t> ProcReader::pid_namespace(pid_t id) const {
  const std::string path = proc_path(id, "ns/pid");
  struct stat found {};
  if (::fstatat(root_.get(), path.c_str(), &found, 0) != 0) {
    return system_error(errno, "cannot look at /proc/" + path);
  }
  return found.st_ino;
}

Result<std::string> ProcReader::comm(pid_t id) const {
  auto name = read(id, "comm");
  if (name && !name->empty() && name->back() == '\n') name->pop_back();
  return name;
}

bool ProcReader::autogroup_enabled() const {
  const char* path = "sys/kernel/sched_autogroup_enabled";
  auto fd = open_proc(root_.get(), path, O_RDONLY);
  char digit = '0';
  return fd && pread(fd->get(), &digit, 1, 0) == 1 && digit == '1';
}

Result<std::vector<pid_t>> ProcReader::threads(pid_t pid) const {
  std::string path = proc_path(pid, "task");
  auto fd = open_proc(root_.get(), path, O_RDONLY | O_DIRECTORY);
  if (!fd) return fd.error();
  std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd->get()), closedir);
  if (!dir) return system_error(errno, "cannot list /proc/" + path);
  fd->release();
  std::vector<pid_t> tids;
  while (const dirent* entry = readdir(dir.get())) {
    pid_t tid = 0;
    if (to_number(entry->d_name, tid)) tids.push_back(tid);
  }
  if (tids.empty()) return system_error(ESRCH, "/proc/" + path);
  std::sort(tids.begin(), tids.end());
  return tids;
}

Result<std::vector<pid_t>> ProcReader::children(pid_t pid) const {
  auto tids = threads(pid);
  if (!tids) return tids.error();
  std::vector<pid_t> all;
  bool readable = false;
  for (pid_t tid : *tids) {
    std::string path =
        proc_path(pid, "task/") + std::to_string(tid) + "/children";
    auto fd = open_proc(root_.get(), path, O_RDONLY);
    if (!fd) continue;  // thread ended; its children moved to another thread
    readable = true;
    auto text = read_all(fd->get(), kMaxChildrenBytes, "/proc/" + path);
    if (!text) continue;
    auto pids = parse_pid_list(*text);
    if (!pids) return pids.error();
    all.insert(all.end(), pids->begin(), pids->end());
  }
  if (!readable) {
    auto alive = identity(pid);
    if (!alive) return alive.error();
    return Error{Code::kUnavailable, 0,
                 "this kernel has no /proc/PID/task/TID/children "
                 "(CONFIG_PROC_CHILDREN)"};
  }
  return all;
}

Result<ProcReader::Descendants> ProcReader::descendants(pid_t pid,
                                                        size_t max) const {
  auto first = children(pid);
  if (!first) return first.error();
  Descendants found;
  std::unordered_set<pid_t> seen{pid};
  auto add = [&](const std::vector<pid_t>& pids) {
    for (pid_t child : pids) {
      if (!seen.insert(child).second) continue;
      if (found.pids.size() < max) {
        found.pids.push_back(child);
      } else {
        found.truncated = true;
      }
    }
  };
  add(*first);
  for (size_t i = 0; i < found.pids.size() && !found.truncated; ++i) {
    auto more = children(found.pids[i]);
    if (more) add(*more);
  }
  return found;
}

}  // namespace penstock
