#include "node_agent/task.h"

namespace penstock {

bool Rank::read(uint32_t batch, TaskPages::Clock clock_ns) {
  const std::optional<Progress> now = pages.read(clock_ns);
  if (now) progress = samples_counted(*now, batch);
  return now.has_value();
}

std::set<pid_t> loader_processes(const Task& task) {
  std::set<pid_t> pids;
  for (const Unit& unit : task.units) {
    if (unit.in_order) pids.insert(unit.pid);
  }
  return pids;
}

bool is_batch(const Task& task) { return task.start.step_id == kBatchStep; }

}  // namespace penstock
