// What job_submit() and job_modify() do. Both run in slurmctld, under its
// locks: they wait for nothing, make no I/O but one datagram, and let the job
// go on unchanged whatever is missing. Any number of threads may run them.
#pragma once

#include "select_ext/job_submit/slurm_api.h"

namespace penstock::job_submit {

// Checks the loader options, adds loader_cpu and loader_bw and the comment,
// and tells penstockctld.
// Returns SLURM_SUCCESS, or EINVAL with a message for the user where an option
// is not valid; then job is not modified.
int submit(job_desc_msg_t& job, char** message);

// Gives an update of a job's GRES the loader's share again, which Slurm would
// drop with the rest of the list it replaces.
void modify(job_desc_msg_t& job);

}  // namespace penstock::job_submit
