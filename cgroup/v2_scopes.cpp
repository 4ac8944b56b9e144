#include "cgroup/v2_scopes.h"

#include <deque>

#include "cgroup/backend_parts.h"
#include "cgroup/v2_cpusets.h"
#include "cgroup/v2_layout.h"

namespace penstock {
namespace {

// Directories to search; a crowded node has some hundreds outside of Slurm's
// scope.
constexpr size_t kMostLooked = 4096;

}  // namespace

std::set<std::string> V2Scopes::find(bool outside_slices, Status& first) const {
  std::set<std::string> found;
  std::deque<std::string> next{""};
  for (size_t looked = 0; !next.empty() && looked < kMostLooked; ++looked) {
    for (std::string& dir : tree_.dirs_in(next.front(), first)) {
      if (is_slurm_scope(dir)) {
        // A user may own groups and give one the same name.
        const auto owner = tree_.fs->owner(dir);
        if (owner && *owner == tree_.fs->maker()) found.insert(std::move(dir));
      } else if (outside_slices || dir.ends_with(".slice")) {
        next.push_back(std::move(dir));
      }
    }
    next.pop_front();
  }
  return found;
}

void V2Scopes::search_everywhere(Status& first) {
  seen_.merge(find(/*outside_slices=*/true, first));
}

std::set<std::string> V2Scopes::all(Status& first) const {
  std::set<std::string> out = find(/*outside_slices=*/false, first);
  out.insert(seen_.begin(), seen_.end());
  return out;
}

// Slurm keeps other directories in the scope too; only a job's contains steps.
std::vector<std::string> V2Scopes::jobs(Status& first) const {
  std::vector<std::string> out;
  for (const std::string& scope : all(first)) {
    for (const std::string& job : tree_.dirs_in(scope, first)) {
      for (const std::string& step : tree_.dirs_in(job, first)) {
        if (step.find("/step_", job.size()) == job.size()) {
          out.push_back(job);
          break;
        }
      }
    }
  }
  return out;
}

Result<CpuSet> V2Scopes::cpus() const {
  auto readable = tree_.fs->list_dirs("");
  if (!readable) return std::move(readable).error();
  CpuSet held;
  Status first = Done{};
  for (const std::string& job : jobs(first)) {
    if (!tree_.is_populated(job)) continue;
    auto own = own_cpus(tree_, job);
    if (own) {
      held = held | *own;
    } else {
      note_first(first, unless_gone(std::move(own).error()));
    }
  }
  if (!first) return std::move(first).error();
  return held;
}

}  // namespace penstock
