// Finds Slurm's scopes, jobs and CPUs; reads only.
#include <unistd.h>

#include <deque>

#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

// Directories to search; a crowded node has some hundreds outside of Slurm's
// scope.
constexpr size_t kMostLooked = 4096;

}  // namespace

std::vector<std::string> V2Backend::dirs_in(const std::string& path) const {
  auto names = fs_->list_dirs(path);
  if (!names) return {};  // the group has ended
  for (std::string& name : *names) name = path + "/" + name;
  return *std::move(names);
}

std::set<std::string> V2Backend::find_scopes(bool outside_slices) const {
  std::set<std::string> found;
  std::deque<std::string> next{""};
  for (size_t looked = 0; !next.empty() && looked < kMostLooked; ++looked) {
    for (std::string& dir : dirs_in(next.front())) {
      if (is_slurm_scope(dir)) {
        // A user may own groups and give one the same name.
        const auto owner = fs_->owner(dir);
        if (owner && *owner == ::geteuid()) found.insert(std::move(dir));
      } else if (outside_slices || dir.ends_with(".slice")) {
        next.push_back(std::move(dir));
      }
    }
    next.pop_front();
  }
  return found;
}

// systemd puts scopes into slices (CgroupSlice= names which). Without systemd
// the scopes are known only from registered tasks.
std::set<std::string> V2Backend::scopes() const {
  std::set<std::string> out = find_scopes(/*outside_slices=*/false);
  out.insert(seen_scopes_.begin(), seen_scopes_.end());
  return out;
}

// Slurm keeps other directories in the scope too; only a job's contains steps.
std::vector<std::string> V2Backend::job_dirs() const {
  std::vector<std::string> out;
  for (const std::string& scope : scopes()) {
    for (const std::string& job : dirs_in(scope)) {
      for (const std::string& step : dirs_in(job)) {
        if (step.find("/step_", job.size()) == job.size()) {
          out.push_back(job);
          break;
        }
      }
    }
  }
  return out;
}

Result<CpuSet> V2Backend::slurm_cpus() const {
  auto readable = fs_->list_dirs("");
  if (!readable) return std::move(readable).error();
  CpuSet held;
  for (const std::string& job : job_dirs()) {
    if (!is_populated(job)) continue;
    auto own = own_cpus(job);
    if (own) held = held | *own;
  }
  return held;
}

}  // namespace penstock
