// What a restarted penstockd must know of the tasks that it was told about:
// StateDir/tasks.json. Parsing is pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cgroup/backend.h"
#include "common/protocol.h"
#include "common/result.h"

namespace penstock {

struct SavedTask {
  penstock_task_start start{};
  Home home;  // with the starttime: a number reused is not the task
  double job_started_unix_s = 0;
  CpuSet loader_cpus;   // as Task has them
  std::string account;  // of the job; "": unknown
};

std::string to_json(const std::vector<SavedTask>& tasks);
// Errors: kInvalidArgument  not what to_json() writes.
[[nodiscard]] Result<std::vector<SavedTask>> parse_saved_tasks(
    std::string_view text);

// The file in an open directory; it appears whole or not at all.
[[nodiscard]] Status save_tasks(int dir_fd,
                                const std::vector<SavedTask>& tasks);
// No file: no tasks.
[[nodiscard]] Result<std::vector<SavedTask>> load_tasks(int dir_fd);

}  // namespace penstock
