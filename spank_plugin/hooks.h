// What each SPANK callback of the plugin does. None throws on purpose; all are
// called through guard().
#pragma once

#include <cstdint>

#include "common/option_set.h"
#include "spank_plugin/agent_link.h"
#include "spank_plugin/settings.h"
#include "spank_plugin/slurm_api.h"

namespace penstock::spank {

// The plugin's state in this process: one job, one step (or one client
// command). Trivially destructible: nothing happens when Slurm unloads us.
struct State {
  Settings settings;
  OptionSet asked;
  WaitBudget budget;
  uint64_t launch_ns = 0;     // in our callbacks before exec, summed
  uint32_t launch_tasks = 0;  // task_post_fork calls in that sum
};
State& state();

// Adds the time from its making to its end to State::launch_ns.
class LaunchTimer {
 public:
  LaunchTimer() : start_ns_(now_ns()) {}
  ~LaunchTimer() { state().launch_ns += elapsed_ns(); }
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;
  uint64_t elapsed_ns() const { return now_ns() - start_ns_; }

 private:
  uint64_t start_ns_;
};

// The absolute path of a model that srun was given as a relative one, for
// slurmstepd. Slurm keeps SLURM* with --export=NONE, too.
inline constexpr const char* kModelPathVariable =
    "SLURM_SPANK_PENSTOCK_MODEL_PATH";

// Reads plugstack.conf's arguments; a bad one is logged and left out.
void read_arguments(int count, char** arguments);

// -- srun, sbatch, salloc (as the user) ---------------------------------------

// Registers the flags, in the order of common/options.h. Also in slurmstepd.
int register_options(spank_t spank);

// An option's callback. At the client a bad value is an error for the user
// (the command ends before it submits); in slurmstepd it is logged and left
// out, for the client may have been another one.
int take_flag(int index, const char* value, int remote);

// Checks the PENSTOCK_* variables as the flags are, and makes a model's path
// absolute in what Slurm passes on. Ends the command on a bad variable:
// Slurm ignores what an optional plugin's callback returns here.
int finish_client_options(spank_t spank);

// -- slurmstepd (as root), none longer than settings.timeout_ms in one step ---

// Takes what did not come as a flag: PENSTOCK_* variables of the job, and the
// flags that `sbatch --export=NONE` keeps from a batch step.
int finish_step_options(spank_t spank);

// Tells penstockd about a task before its exec, and waits for the answer: the
// task's CPUs may be lent. Any failure is one line in the log.
int announce_task(spank_t spank);
int announce_task_exit(spank_t spank);
int announce_step_end(spank_t spank);

// -- slurmstepd as the epilog's helper (as root)
// -------------------------------

int announce_job_end(spank_t spank);

}  // namespace penstock::spank
