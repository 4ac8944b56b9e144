// Removes leftover directories of steps that had groups of ours. Slurm tries to
// remove each directory of a step once; if one of our groups was there at that
// moment, the step's directories stay.
//
// The race with a new step of the same name (Slurm 22.05 to 26.05): a starting
// slurmstepd creates the job's and the step's directory and writes to their
// cgroup.subtree_control under an flock on the scope. An ending one removes
// them under the same lock.
//
// The starting slurmstepd then creates `user` and `slurm`, and moves itself
// into `slurm`, without the lock. So the lock alone does not suffice: a step is
// removed under the lock only if no slurmstepd has started there for two
// seconds. One that started earlier is in the step by then. One that starts
// later waits briefly for the lock and creates its directories again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cgroup/v2_tree.h"

namespace penstock {

class V2LeftSteps {
 public:
  explicit V2LeftSteps(V2Tree tree) : tree_(std::move(tree)) {}

  void add(const std::string& step) { steps_.try_emplace(step); }
  // Adds the steps of these jobs that an earlier run marked (".step"; the mark
  // disappears with the directory). What cannot be listed is noted in `first`.
  void add_marked(const std::vector<std::string>& jobs, Status& first);
  // Call it twice a second.
  void remove_unused();

 private:
  struct Step {
    int looks = 0;  // calls of remove_unused() under watch without a process
    int tries = 0;  // to remove it
    std::optional<WriteWatch> begins;  // a starting step writes to this file
  };

  void look_at(const std::string& path, Step& step);
  void remove(const std::string& step) const;

  V2Tree tree_;
  std::map<std::string, Step> steps_;  // by path
};

}  // namespace penstock
