// Sources of a submission's loader options in slurmctld.
//
// Flags of sbatch, srun and salloc, and #SBATCH lines, are in the job's control
// environment (spank_job_env), which --export=NONE does not affect:
// "_SLURM_SPANK_OPTION_penstock_loader_threads=4". PENSTOCK_* variables are in
// a batch job's environment. srun and salloc send no environment, so the SPANK
// plugin puts the variables into the control environment. Both lists are
// written by the user and may hold any text.
#pragma once

#include <span>

#include "common/option_set.h"
#include "common/result.h"

namespace penstock::job_submit {

// Errors: kInvalidArgument  for the user; names the flag or variable, its value
//                          and what is allowed
// Pure, thread-safe; allocates only on error.
[[nodiscard]] Result<OptionSet> read_options(
    std::span<const char* const> control_environment,
    std::span<const char* const> batch_environment, bool is_batch,
    const OptionLimits& limits);

}  // namespace penstock::job_submit
