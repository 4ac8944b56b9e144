// Reads /proc (or a captured copy of it) relative to a directory fd.
//
// "id" is a process or a thread: /proc/TID exists for every thread, but
// readdir(3) does not list it. An ended process or thread gives kNotFound, even
// if it ends during the read. Reads nothing for which the kernel takes a lock
// of the process's memory (cmdline, environ, maps): a user can hold it for
// ever. Thread-safe.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "cgroup/proc_parse.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Identity of a thread or process: the kernel reuses numbers.
struct TaskId {
  pid_t tid = 0;
  uint64_t starttime_ticks = 0;  // 0: the present thread with this tid

  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

// One thread's schedstat, kept open: a read costs one pread(2). The fd never
// refers to a later thread with the same tid.
class SchedstatFile {
 public:
  explicit SchedstatFile(UniqueFd fd) : fd_(std::move(fd)) {}
  // Errors: kNotFound  the thread has ended.
  [[nodiscard]] Result<SchedStat> read() const;

 private:
  UniqueFd fd_;
};

// One thread's stat, kept open.
class ThreadStatFile {
 public:
  explicit ThreadStatFile(UniqueFd fd) : fd_(std::move(fd)) {}
  // ProcStat::state. Errors: kNotFound  the thread has ended.
  [[nodiscard]] Result<char> state() const;

 private:
  UniqueFd fd_;
};

class ProcReader {
 public:
  // proc_root_fd: an open directory. open() uses the machine's /proc.
  explicit ProcReader(UniqueFd proc_root_fd) : root_(std::move(proc_root_fd)) {}
  ProcReader(ProcReader&&) = default;
  virtual ~ProcReader() = default;
  [[nodiscard]] static Result<ProcReader> open();

  // The present identity of id. A zombie gives kNotFound.
  [[nodiscard]] Result<TaskId> identity(pid_t id) const;
  // kNotFound if the thread ended or its tid was reused.
  [[nodiscard]] Status verify(const TaskId& task) const;

  [[nodiscard]] Result<ProcCgroups> cgroups(pid_t id) const;
  // utime and stime are the whole process's, even if id is a thread.
  [[nodiscard]] Result<ProcStat> stat(pid_t id) const;
  [[nodiscard]] Result<SchedStat> schedstat(pid_t id) const;
  [[nodiscard]] Result<SchedstatFile> open_schedstat(pid_t id) const;
  [[nodiscard]] Result<ThreadStatFile> open_stat(pid_t id) const;
  [[nodiscard]] Result<ProcStatus> status(pid_t id) const;
  // Inode number of the process's pid namespace. Root alone may look at those
  // of other users' processes.
  [[nodiscard]] virtual Result<uint64_t> pid_namespace(pid_t id) const;
  // The thread's name without the newline: at most 15 bytes, any values.
  [[nodiscard]] Result<std::string> comm(pid_t id) const;

  // Whether the kernel groups the root group's tasks by session
  // (sched_autogroup_enabled); false if the kernel lacks autogroups.
  bool autogroup_enabled() const;

  // Threads of a process, ascending.
  [[nodiscard]] Result<std::vector<pid_t>> threads(pid_t pid) const;

  // Child processes of all threads of pid. Children of a thread that ends
  // during the call may be missing from this call.
  // Errors: kUnavailable  a kernel without CONFIG_PROC_CHILDREN.
  [[nodiscard]] Result<std::vector<pid_t>> children(pid_t pid) const;

  struct Descendants {
    std::vector<pid_t> pids;  // breadth first, without pid itself
    bool truncated = false;   // there are more than max
  };
  // All descendants, at most max. Processes that end during the call may be
  // missing, and so are orphans: search the cgroup for these.
  [[nodiscard]] Result<Descendants> descendants(pid_t pid, size_t max) const;

 private:
  [[nodiscard]] Result<std::string> read(pid_t id, const char* file) const;

  UniqueFd root_;
};

}  // namespace penstock
