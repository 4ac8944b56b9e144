// Reads processes' command lines in a bounded child process: a process that
// holds the lock of its memory (a page of a hung FUSE file system is enough)
// blocks every reader of /proc/PID/cmdline for as long as it likes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/task.h"

namespace penstock {

// A readable command line takes microseconds, but a fork of a large process
// holds its lock for up to a second. The rest is for a busy machine.
inline constexpr uint64_t kCommandDeadline_ms = 1000;
// For all of a scan, if each of its processes takes nearly that long.
inline constexpr uint64_t kMostReading_ms = 2000;
// Of one task. Then its command lines are no longer read.
inline constexpr size_t kMaxHangs = 8;

// The report's note on a job with such a process.
std::string hanging_note();

struct CommandLines {
  // Of the first of the processes that were asked for; as in /proc/PID/cmdline,
  // cut after 4096 bytes; "": the process has ended.
  std::vector<std::string> texts;
  bool next_hangs = false;  // the process after them blocked its reader
};

// Calls back once, possibly before it returns. Fewer texts than pids without
// next_hangs: kMostReading_ms have passed, or the child could not be started,
// was killed, or got no CPU.
// user: BoundedChildren's limit applies to this user's processes.
void read_command_lines(BoundedChildren& children, uid_t user,
                        const std::vector<pid_t>& pids,
                        std::function<void(const CommandLines&)> callback);

// Updates the task's list of commands: adds new processes, drops ended ones.
// Returns the processes whose command line has to be read: they are new, may
// still exec, or have another name.
std::vector<pid_t> unread_commands(const TaskView& view, uint64_t now_ns,
                                   Task& task);

// Keeps what was read for these pids. Returns true if a process hangs.
bool keep_commands(const std::vector<pid_t>& pids, const CommandLines& lines,
                   uint64_t now_ns, Task& task);

// Has them read again, because an exec may have been missed.
void reread_commands(Task& task);
// The process runs another program.
void note_exec(pid_t pid, Task& task);

// Fills in the commands of a view from the known ones.
void add_commands(const Task& task, TaskView& view);

}  // namespace penstock
