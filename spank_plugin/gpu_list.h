// Which variable of a step's environment has the GPUs that Slurm gave it.
//
// slurmstepd sets one of two variables before it calls SPANK plugins, or
// removes it if the step has no GPU; the other one may be the user's. It does
// so in its plugin gres_gpu.so, which it loads if GresTypes lists gpu. (Seen
// with Slurm 22.05.8; the same in the sources up to 26.05.)
#pragma once

#include <cstdint>

namespace penstock::spank {

// Slurm's number of a step, S_JOB_STEPID.
const char* gpu_variable(uint32_t step_id);

// Whether this process has loaded a file of that name, such as "gres_gpu.so".
bool is_loaded(const char* file_name);

}  // namespace penstock::spank
