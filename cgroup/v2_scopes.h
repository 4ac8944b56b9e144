// Finds Slurm's scopes and jobs, as paths; reads only. systemd puts scopes into
// slices (CgroupSlice= names which). Without systemd the scopes are known only
// from registered tasks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cgroup/v2_tree.h"

namespace penstock {

class V2Scopes {
 public:
  explicit V2Scopes(V2Tree tree) : tree_(std::move(tree)) {}

  // Of a registered task.
  void add(const std::string& scope) { seen_.insert(scope); }
  // Also adds scopes outside of slices, which an earlier run may have known.
  void search_everywhere(Status& first);

  // What cannot be listed is noted in `first`.
  std::set<std::string> all(Status& first) const;
  std::vector<std::string> jobs(Status& first) const;
  // As Backend::slurm_cpus.
  [[nodiscard]] Result<CpuSet> cpus() const;

 private:
  std::set<std::string> find(bool outside_slices, Status& first) const;

  V2Tree tree_;
  std::set<std::string> seen_;
};

}  // namespace penstock
