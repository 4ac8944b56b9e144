// job_submit_penstock.so: the symbols that slurmctld looks up. slurmctld loads
// a plugin of this kind only if plugin_version equals its own, micro version
// included.
#include "common/plugin_guard.h"
#include "select_ext/job_submit/hook.h"
#include "select_ext/job_submit/state.h"

using penstock::guard;
namespace plugin = penstock::job_submit;

#pragma GCC visibility push(default)
extern "C" {

// `const` alone would give them internal linkage, hidden from Slurm.
extern const char plugin_name[];
extern const char plugin_type[];
extern const uint32_t plugin_version;
const char plugin_name[] = "Penstock job submit plugin";
const char plugin_type[] = "job_submit/penstock";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init() {
  return guard("init", SLURM_SUCCESS, [] {
    plugin::start();
    return SLURM_SUCCESS;
  });
}

int fini() {
  plugin::stop();
  return SLURM_SUCCESS;
}

int job_submit(job_desc_msg_t* job, uint32_t, char** message) {
  if (!plugin::state().is_ready) return SLURM_SUCCESS;
  const plugin::HookTimer timer;
  return guard("job_submit", SLURM_SUCCESS,
               [&] { return plugin::submit(*job, message); });
}

int job_modify(job_desc_msg_t* job, struct job_record*,
               uint32_t PENSTOCK_JOB_MODIFY_MESSAGE) {
  if (!plugin::state().is_ready) return SLURM_SUCCESS;
  const plugin::HookTimer timer;
  return guard("job_modify", SLURM_SUCCESS, [&] {
    plugin::modify(*job);
    return SLURM_SUCCESS;
  });
}

}  // extern "C"
#pragma GCC visibility pop
