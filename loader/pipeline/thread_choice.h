// Chooses a job's number of loader threads.
#pragma once

#include <cstddef>

#include "penstock/loader/pipeline.h"

namespace penstock {

// The CPUs that the process may run on; at least 1.
size_t own_cpus();

// Loader threads for the CPUs that Slurm gave this task: SLURM_CPUS_PER_TASK if
// it is a number from 1 to 4096, else the affinity CPUs. At most affinity_cpus,
// at least 1.
size_t entitled_threads(const char* slurm_cpus_per_task, size_t affinity_cpus);

// The user's choice.
struct ThreadChoice {
  size_t fixed = 0;  // 0: elastic; starts with Slurm's number
  size_t least = 1;  // if elastic
  size_t most = 0;   // if elastic; 0: the machine's CPUs, as Penstock may lend
                     // CPUs outside of the process's affinity
};
// Sets the thread fields of `options` for this process.
void choose_threads(const ThreadChoice& choice, PipelineOptions& options);

}  // namespace penstock
