// Where the public headers of Slurm's releases differ, 22.05 to 26.05: this
// file and no other. A field or function that moved is asked for by name and
// not by release, as releases are not told by SchedMD's announcements alone.
// Links nothing: what calls libslurm is inline.
#pragma once

#include <cstdint>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
}

// job_modify() may answer the user from 23.02 on.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define PENSTOCK_JOB_MODIFY_MESSAGE , char**
#else
#define PENSTOCK_JOB_MODIFY_MESSAGE
#endif

namespace penstock::slurm_release {

// In front of a generic resource's name where jobs ask for some.
inline constexpr const char* kGresKind =
    SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0) ? "gres/" : "gres:";

// The number in a request, 0 or NO_VAL without one. Within a step's
// identification in 26.05.
template <class Request>
uint32_t job_id_of(const Request& job) {
  if constexpr (requires { job.job_id; }) {
    return job.job_id;
  } else {
    return job.step_id.job_id;
  }
}

// Frees what slurm_load_ctl_conf() gave. Another name in 26.05.
template <class Conf>
void free_conf(Conf* conf) {
  if constexpr (requires { slurm_free_ctl_conf(conf); }) {
    slurm_free_ctl_conf(conf);
  } else {
    slurm_free_conf(conf);
  }
}

}  // namespace penstock::slurm_release
