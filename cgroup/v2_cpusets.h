// Slurm's cpusets, which a loan widens. A mark on each changed group
// distinguishes our values from Slurm's.
#pragma once

#include <set>
#include <string>

#include "cgroup/v2_layout.h"
#include "cgroup/v2_tree.h"

namespace penstock {

// The CPUs that Slurm gave the group, without our changes; empty if Slurm set
// none on this group.
[[nodiscard]] Result<CpuSet> own_cpus(const V2Tree& tree,
                                      const std::string& group);

// Slurm sets cpusets at some levels only; the others inherit their parent's.
// Empty: Slurm constrains no level.
[[nodiscard]] Result<CpuSet> task_cpus(const V2Tree& tree,
                                       const SlurmGroups& task);

// Adds the lent CPUs to Slurm's own, in place of those added before. Empty:
// restores Slurm's, and removes a fence.
[[nodiscard]] Status widen(const V2Tree& tree, const std::string& group,
                           const CpuSet& lent);
// Tries every group; a group that has ended counts as done.
[[nodiscard]] Status widen_all(const V2Tree& tree,
                               const std::set<std::string>& groups,
                               const CpuSet& lent);

// Keeps a task without a loan on its own CPUs: its parent `user` is widened for
// a neighbour's loan. A task with groups of ours needs no fence; its home group
// bounds it.
[[nodiscard]] Status fence(const V2Tree& tree, const std::string& task,
                           const CpuSet& cpus);

}  // namespace penstock
