// The CPUs that Slurm keeps for the system: CoreSpecCount, CpuSpecList. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

// node_text: the output of `scontrol --oneliner show node NODE`. Its
// CPUSpecList has Slurm's abstract CPU numbers, which count the hardware
// threads core by core. Returns the machine's numbers.
// core_of_cpu: as in Topology.
// Errors: kUnavailable      no answer about a node, as when slurmctld is down;
//         kInvalidArgument  the CPUs cannot be told: slurmd has not registered
//                           its list, or Slurm's layout is not the machine's.
[[nodiscard]] Result<CpuSet> spec_cpus(std::string_view node_text,
                                       const std::vector<int>& core_of_cpu);

}  // namespace penstock
