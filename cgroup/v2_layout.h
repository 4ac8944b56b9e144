// Where Slurm keeps jobs in the unified hierarchy, read off the path that a
// thread's own /proc/TID/cgroup gives: it is never composed from a job's
// number, for from 26.05 on the job's directory has another name. Pure.
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

  // From the job down: where a cpuset may stand.
  std::set<std::string> levels() const { return {job, step, user, task}; }
};

// nullopt: the path does not lead into a task of Slurm's, or it begins outside
// of our cgroup namespace ("/../.."). It may lead further, into a group below
// the task's. How deep the scope is does not matter.
std::optional<SlurmGroups> slurm_groups_of(std::string_view path);

// Whether a directory's name is that of a scope that Slurm's steps run in.
bool is_slurm_scope(std::string_view name);

// "254:16 rbytes=4096 wbytes=0 ...": the figure after key of one device's line
// in io.stat or io.max; nullopt where there is none, or it is "max".
std::optional<uint64_t> io_figure(std::string_view text,
                                  std::string_view device,
                                  std::string_view key);

// cpu.pressure or io.pressure: how long some thread of the group, whatever the
// others did, was held up, since the group was made; nullopt for other text.
std::optional<uint64_t> pressure_some_us(std::string_view text);

// "usage_usec 12": a figure of cpu.stat or cgroup.events.
std::optional<uint64_t> keyed_figure(std::string_view text,
                                     std::string_view key);

}  // namespace penstock
