// The CPUs lent to one job on v2: its tasks, those of them with groups of ours,
// the widened cpusets above these, and the borrower's weight.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cgroup/v2_layout.h"
#include "cgroup/v2_left.h"
#include "cgroup/v2_tree.h"

namespace penstock {

class V2Loan {
 public:
  // job: path of its group.
  V2Loan(V2Tree tree, JobId id, std::string job)
      : tree_(std::move(tree)), id_(id), job_(std::move(job)) {}

  // Errors: as Backend::add_task.
  [[nodiscard]] Status add_task(const SlurmGroups& groups);
  // As Backend::give_way.
  void give_way() { gives_way_ = true; }
  // As Backend::hold_back.
  [[nodiscard]] Status hold_back(bool is_held);
  // As Backend::set_away_cpus. Steps that may stay behind go to `left`, here
  // and below.
  [[nodiscard]] Status set_cpus(const CpuSet& cpus, V2LeftSteps& left);
  // Makes the groups of a task whose first thread goes away.
  // Errors: as Backend::send_away.
  [[nodiscard]] Status prepare(const std::string& task, V2LeftSteps& left);
  [[nodiscard]] Result<std::set<pid_t>> away_threads() const;
  // Restores what others have overwritten, and removes the groups of ended
  // tasks and of given-up tries; of the latter none after until_ns.
  [[nodiscard]] Status refresh(uint64_t until_ns, V2LeftSteps& left);

  // Stops refresh() from restoring the loan. The next add_task() begins anew.
  void end(V2LeftSteps& left);
  bool is_over() const { return is_over_; }

 private:
  struct Task {
    SlurmGroups groups;
    bool prepared = false;  // has complete groups of ours
    int tries = 0;          // calls that left its home group incomplete
    int pause = 0;          // refresh() calls until the next try; < 0: since
    int next_pause = 1;     // refresh() calls
    Error failure;          // of the last try

    bool has_groups() const { return prepared || tries > 0; }
  };

  // Job, step, `user` and task groups of all prepared tasks.
  std::set<std::string> levels() const;
  bool is_first_of_step(const Task& task) const;
  Status lend_to(const Task& task, bool is_first);
  void unprepare(Task& task, V2LeftSteps& left);
  void forget_ended_tasks(V2LeftSteps& left);
  Status limit() const;
  Status fence_neighbours(const SlurmGroups& task) const;
  void count_pause(const std::string& path, Task& task, uint64_t until_ns);
  Status weigh() const;

  V2Tree tree_;
  JobId id_;
  std::string job_;
  std::map<std::string, Task> tasks_;  // by path
  CpuSet lent_;
  bool gives_way_ = false;
  bool is_held_back_ = false;
  bool is_over_ = false;  // not all is restored yet
};

// Restores the weight that a borrower job had, also after a crashed run.
[[nodiscard]] Status restore_weight(const V2Tree& tree, const std::string& job);

}  // namespace penstock
