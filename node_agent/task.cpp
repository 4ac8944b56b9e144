#include "node_agent/task.h"

namespace penstock {

bool Rank::read(uint32_t batch, TaskPages::Clock clock_ns) {
  const std::optional<Progress> now = pages.read(clock_ns);
  if (now) progress = samples_counted(*now, batch);
  return now.has_value();
}

void restore_hanging(const std::vector<TaskId>& processes, Task& task) {
  task.hangs = processes.size();
  for (const TaskId& process : processes) {
    task.commands[process.tid] = {.process = process, .hangs = true};
  }
}

std::set<pid_t> loader_processes(const Task& task) {
  std::set<pid_t> pids;
  for (const Unit& unit : task.units) {
    if (unit.in_order) pids.insert(unit.pid);
  }
  return pids;
}

std::vector<TaskId> hanging_processes(const Task& task) {
  std::vector<TaskId> found;
  for (const auto& [pid, command] : task.commands) {
    if (command.hangs) found.push_back(command.process);
  }
  return found;
}

bool is_batch(const Task& task) { return task.start.step_id == kBatchStep; }

}  // namespace penstock
