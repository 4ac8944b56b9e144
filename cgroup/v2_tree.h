// The unified hierarchy as the parts of V2Backend see it: our groups' names,
// the marks on Slurm's groups, the threads of a group and their moves. Internal
// to cgroup/.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"

namespace penstock {

// Bound of one series of moves: the caller may have threads to bring home
// within 100 ms. It calls again for the rest. A first move takes 10 to 20 ms,
// moves right after it 0.01 ms; on a busy machine each may take longer.
inline constexpr uint64_t kMove_ns = 100'000'000;
// Per task or process: each thread costs a look.
inline constexpr size_t kMostThreads = 4096;

// Copies refer to the same hierarchy.
struct V2Tree {
  const CgroupFs* fs;
  const ProcReader* proc;
  const ThreadSched* sched;
  BackendSettings settings;

  std::string home_dir(std::string_view task) const;
  std::string loader_dir(std::string_view task) const;
  bool is_loader_dir(std::string_view path) const;
  // The task's group if path is one of our two groups in it, else path itself.
  std::string task_of(std::string_view path) const;

  // Name of a mark: ".job" is the job's number; ".cpus", ".weight", ".max" and
  // ".io" have former values; ".step": the step had groups of ours.
  std::string mark(const char* what) const { return settings.name + what; }
  // Records that the group of this job has values of ours.
  Status mark_job(const std::string& job, JobId id) const;
  // Writes a group's marked former value to its file and removes the mark. Done
  // without a mark or a group.
  Status restore_marked(const std::string& group, const char* file,
                        const char* what) const;

  // Paths of the group's subgroups; none if it has ended, or if they cannot be
  // listed, which is noted in `first`.
  std::vector<std::string> dirs_in(const std::string& group,
                                   Status& first) const;
  bool is_populated(const std::string& group) const;
  // None if there is no such group.
  Result<std::set<pid_t>> threads_in(const std::string& group) const;

  Status move_thread(pid_t tid, const std::string& group) const;
  // Moves the processes of these threads, until until_ns at most.
  Status move_processes(const std::set<pid_t>& threads, const std::string& from,
                        const std::string& to, uint64_t until_ns) const;
  // As Backend::bring_home.
  Status bring_home(const Home& home) const;

 private:
  Status move_process(pid_t tid, const std::string& from,
                      const std::string& to) const;
};

}  // namespace penstock
