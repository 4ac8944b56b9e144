#include "node_agent/home_finder.h"

#include "node_agent/registry.h"

namespace penstock {

FindHome home_finder(const ProcReader& proc, std::vector<SavedTask> saved) {
  return [&proc, saved = std::move(saved)](pid_t tid) -> std::optional<Home> {
    Result<ProcCgroups> groups = proc.cgroups(tid);
    if (!groups) return std::nullopt;
    const auto freezer = groups->find("freezer");
    if (freezer == groups->end()) return std::nullopt;
    const std::string group = job_group_of(freezer->second);
    for (const SavedTask& task : saved) {
      if (!group.ends_with("/job_" + std::to_string(task.start.job_id))) {
        continue;
      }
      Home home = task.home;
      home.task = TaskId{tid, 0};
      return home;
    }
    return std::nullopt;
  };
}

}  // namespace penstock
