// The work of job_submit() and job_modify(). Both run in slurmctld under its
// locks. They never wait, and their only I/O is one datagram. If anything is
// missing, the job passes unchanged. Thread-safe.
#pragma once

#include "select_ext/job_submit/slurm_api.h"

namespace penstock::job_submit {

// Checks the loader options, adds loader_cpu, loader_bw and the comment, and
// sends the submission to penstockctld. Returns SLURM_SUCCESS, or EINVAL with a
// message for the user if an option is invalid; then job is not modified.
int submit(job_desc_msg_t& job, char** message);

// Adds the loader's share to an update of a job's GRES. Without it Slurm would
// drop the share with the rest of the replaced list.
void modify(job_desc_msg_t& job);

}  // namespace penstock::job_submit
