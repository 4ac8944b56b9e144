// The tasks that a restarted penstockd adopts: StateDir/tasks.json. Parsing is
// pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/backend.h"
#include "common/protocol.h"
#include "common/result.h"
#include "node_agent/plan/job_origins.h"

namespace penstock {

struct SavedTask {
  penstock_task_start start{};
  Home home;  // with starttime, to detect a reused pid
  double job_started_unix_s = 0;
  CpuSet loader_cpus;           // as in Task
  std::set<pid_t> pinned_tids;  // SplitThreads::users
  JobOrigin origin;             // the job's
  std::vector<TaskId> hanging;  // CommandLine::hangs
};

std::string to_json(const std::vector<SavedTask>& tasks);
// Errors: kInvalidArgument  not written by to_json().
[[nodiscard]] Result<std::vector<SavedTask>> parse_saved_tasks(
    std::string_view text);

// Replaces the file in an open directory, atomically; on an error, such as a
// full disk, the old file stays. Not synced: no task outlives a crash of the
// machine, and fsync() would stop the event loop for 12 to 40 ms on a disk.
[[nodiscard]] Status save_tasks(int dir_fd,
                                const std::vector<SavedTask>& tasks);
// A missing file means no tasks.
[[nodiscard]] Result<std::vector<SavedTask>> load_tasks(int dir_fd);

}  // namespace penstock
