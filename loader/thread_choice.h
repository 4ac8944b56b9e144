// How many loader threads a job begins with.
#pragma once

#include <cstddef>

#include "penstock/loader/pipeline.h"

namespace penstock {

// The CPUs that the process may run on; at least 1.
size_t own_cpus();

// The loader threads that Slurm gave this task: SLURM_CPUS_PER_TASK where it
// is a number, but never more than the CPUs that the process may run on; at
// least 1.
size_t entitled_threads(const char* slurm_cpus_per_task, size_t affinity_cpus);

// What a user asks for.
struct ThreadChoice {
  size_t fixed = 0;  // 0: what Slurm gave, then what the hint says
  size_t least = 1;  // unless fixed
  size_t most = 0;   // unless fixed; 0: the machine's CPUs, of which some may
                     // be lent beyond those that the process may run on
};
// Sets the options' threads for this process.
void choose_threads(const ThreadChoice& choice, PipelineOptions& options);

}  // namespace penstock
