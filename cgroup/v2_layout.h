// Slurm's groups in the unified hierarchy, parsed from the path in a thread's
// /proc/TID/cgroup. A path is never composed from a job's number, because Slurm
// 26.05 renamed the job's directory. Also parses v2 control files. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace penstock {

// SCOPE/JOB/step_S/user/task_T, each as a path from the hierarchy's root with
// a leading '/'. SCOPE is ".../[NODE_]slurmstepd.scope".
struct SlurmGroups {
  std::string scope;
  std::string job;
  std::string step;
  std::string user;
  std::string task;

  // The groups that may have a cpuset, from the job down.
  std::set<std::string> levels() const { return {job, step, user, task}; }
};

// The Slurm groups on a path into a task's group or a group below it. The scope
// may be at any depth.
// nullopt: no task of Slurm's, or the path begins outside of our cgroup
// namespace ("/../..").
std::optional<SlurmGroups> slurm_groups_of(std::string_view path);

// Whether a directory's name is that of the scope of Slurm's steps.
bool is_slurm_scope(std::string_view name);

// One device's value for `key` in io.stat or io.max, whose lines are
// "254:16 rbytes=4096 wbytes=0 ..."; nullopt if missing or "max".
std::optional<uint64_t> io_figure(std::string_view text,
                                  std::string_view device,
                                  std::string_view key);

// Total "some" time in cpu.pressure or io.pressure: at least one thread of the
// group was stalled. Since the group's creation; nullopt for other text.
std::optional<uint64_t> pressure_some_us(std::string_view text);

// The value of `key` in cpu.stat or cgroup.events ("usage_usec 12").
std::optional<uint64_t> keyed_figure(std::string_view text,
                                     std::string_view key);

}  // namespace penstock
