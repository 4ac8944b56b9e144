// All differences between the public headers of Slurm 22.05 to 26.05; no other
// file depends on the release. A moved field or function is detected by name
// where possible, not by release number, because announcements do not reliably
// name the release of a change. All functions are inline: this adds no library.
#pragma once

#include <cstdint>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <slurm/slurmdb.h>
}

// From 23.02 on job_modify() has a parameter for a message to the user.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define PENSTOCK_JOB_MODIFY_MESSAGE , char**
#else
#define PENSTOCK_JOB_MODIFY_MESSAGE
#endif

namespace penstock::slurm_release {

// Prefix of a generic resource's name in job requests.
inline constexpr const char* kGresKind =
    SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0) ? "gres/" : "gres:";

// The job id in a request; 0 or NO_VAL if unset. In 26.05 it is part of
// step_id.
template <class Request>
uint32_t job_id_of(const Request& job) {
  if constexpr (requires { job.job_id; }) {
    return job.job_id;
  } else {
    return job.step_id.job_id;
  }
}

// Frees the result of slurm_load_ctl_conf(). 26.05 renamed the function.
template <class Conf>
void free_conf(Conf* conf) {
  if constexpr (requires { slurm_free_ctl_conf(conf); }) {
    slurm_free_ctl_conf(conf);
  } else {
    slurm_free_conf(conf);
  }
}

}  // namespace penstock::slurm_release
