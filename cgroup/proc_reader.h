// Reads /proc (or a captured copy of it) relative to a held directory fd.
//
// "id" is a process or a thread: /proc/TID exists for every thread, though
// it is not listed. A process or thread that is gone is kNotFound, also when
// it goes while it is read. Thread-safe.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "cgroup/proc_parse.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// A thread or process for good: a number alone may be reused.
struct TaskId {
  pid_t tid = 0;
  uint64_t starttime_ticks = 0;  // 0: any thread that has the number now

  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

// One thread's schedstat, held open: a read costs one pread(2), and the fd
// stands for this very thread, never for a later one of the same number.
class SchedstatFile {
 public:
  explicit SchedstatFile(UniqueFd fd) : fd_(std::move(fd)) {}
  // Errors: kNotFound  the thread has ended.
  [[nodiscard]] Result<SchedStat> read() const;

 private:
  UniqueFd fd_;
};

// One thread's stat, held open as well.
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
  // proc_root_fd: an open directory. open() is the machine's own /proc.
  explicit ProcReader(UniqueFd proc_root_fd) : root_(std::move(proc_root_fd)) {}
  [[nodiscard]] static Result<ProcReader> open();

  // The identity that id has now. A zombie is kNotFound.
  [[nodiscard]] Result<TaskId> identity(pid_t id) const;
  // kNotFound where the thread is gone or its number has been given anew.
  [[nodiscard]] Status verify(const TaskId& task) const;

  [[nodiscard]] Result<ProcCgroups> cgroups(pid_t id) const;
  // utime and stime of the whole process, also when id is a thread.
  [[nodiscard]] Result<ProcStat> stat(pid_t id) const;
  // utime and stime of the thread alone.
  [[nodiscard]] Result<ProcStat> thread_stat(pid_t pid, pid_t tid) const;
  [[nodiscard]] Result<SchedStat> schedstat(pid_t id) const;
  [[nodiscard]] Result<SchedstatFile> open_schedstat(pid_t id) const;
  [[nodiscard]] Result<ThreadStatFile> open_stat(pid_t id) const;
  [[nodiscard]] Result<ProcStatus> status(pid_t id) const;
  [[nodiscard]] Result<ProcIo> io(pid_t id) const;
  // The pid namespace that the process is in: its inode number.
  [[nodiscard]] Result<uint64_t> pid_namespace(pid_t id) const;
  // The thread's name without the newline, at most 15 bytes, any bytes.
  [[nodiscard]] Result<std::string> comm(pid_t id) const;
  // Arguments; at most the first 4096 bytes of them.
  [[nodiscard]] Result<std::vector<std::string>> cmdline(pid_t id) const;

  // Whether the kernel groups the root group's tasks by session
  // (sched_autogroup_enabled); false where it does not know autogroups.
  bool autogroup_enabled() const;

  // Threads of a process, ascending.
  [[nodiscard]] Result<std::vector<pid_t>> threads(pid_t pid) const;

  // Child processes of all its threads. Those of a thread that ends meanwhile
  // may be missing once.
  // Errors: kUnavailable  a kernel without CONFIG_PROC_CHILDREN.
  [[nodiscard]] Result<std::vector<pid_t>> children(pid_t pid) const;

  struct Descendants {
    std::vector<pid_t> pids;  // breadth first, without pid itself
    bool truncated = false;   // there were more than max
  };
  // Children, their children, and so on; those that end meanwhile are left
  // out. Children of a parent that has ended are not found: ask the cgroup.
  [[nodiscard]] Result<Descendants> descendants(pid_t pid, size_t max) const;

 private:
  [[nodiscard]] Result<std::string> read(pid_t id, const char* file) const;

  UniqueFd root_;
};

}  // namespace penstock
