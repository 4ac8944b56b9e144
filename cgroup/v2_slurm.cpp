// What Slurm's own groups say; they are only read.
#include "cgroup/v2_backend.h"

namespace penstock {

std::vector<std::string> V2Backend::dirs_in(const std::string& path) const {
  auto names = fs_->list_dirs(path);
  if (!names) return {};  // it ended meanwhile
  for (std::string& name : *names) name = path + "/" + name;
  return *std::move(names);
}

// At the root or in a slice: where systemd, or Slurm without it, puts them.
std::vector<std::string> V2Backend::scopes() const {
  std::vector<std::string> out;
  for (const std::string& top : dirs_in("")) {
    if (is_slurm_scope(top)) out.push_back(top);
    if (!top.ends_with(".slice")) continue;
    for (const std::string& below : dirs_in(top)) {
      if (is_slurm_scope(below)) out.push_back(below);
    }
  }
  return out;
}

// Slurm keeps directories of its own there too: a job's has steps.
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
