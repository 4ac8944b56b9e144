// The plugin's SPANK callbacks, one hook each. Hooks do not throw by design;
// plugin_entry.cpp calls them through guard().
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/option_set.h"
#include "spank_plugin/agent_link.h"
#include "spank_plugin/settings.h"
#include "spank_plugin/slurm_api.h"

namespace penstock::spank {

// The plugin's state in this process: one step, or one client command.
// Trivially destructible: no destructor runs when Slurm unloads the plugin.
struct State {
  Settings settings;
  OptionSet asked;
  WaitBudget budget;
  uint64_t launch_ns = 0;     // time in our callbacks before exec, summed
  uint32_t launch_tasks = 0;  // task_post_fork calls in that sum
  uint32_t exited_tasks = 0;  // of this step, on this node
  bool wants_advice = false;  // before the command submits
  bool wants_notice = false;  // penstockd has a line for the job's end
};
State& state();

// Adds its lifetime to State::launch_ns.
class LaunchTimer {
 public:
  LaunchTimer() : start_ns_(monotonic_ns()) {}
  ~LaunchTimer() { state().launch_ns += elapsed_ns(); }
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;
  uint64_t elapsed_ns() const { return monotonic_ns() - start_ns_; }

 private:
  uint64_t start_ns_;
};

// Carries the absolute path of srun's relative model to slurmstepd.
// The prefix SLURM survives --export=NONE.
inline constexpr const char* kModelPathVariable =
    "SLURM_SPANK_PENSTOCK_MODEL_PATH";

// Reads plugstack.conf's arguments; logs and skips invalid ones.
void read_arguments(int count, char** arguments);

// -- srun, sbatch, salloc (as the user) ---------------------------------------

// Registers the flags, in the order of common/options.h, then kAdviseOption. Also in slurmstepd.
int register_options(spank_t spank);

// An option's callback. In the client, returns an error on an invalid value:
// the command ends before it submits. In slurmstepd, logs and skips an invalid
// value, because the client may have had another version or other limits.
int take_flag(int index, const char* value, int remote);

// Checks the PENSTOCK_* variables like the flags, and makes a model's path
// absolute in the variables and flags that Slurm passes on. Ends the command on
// an invalid variable, because Slurm ignores the return value of an optional
// plugin here.
int finish_client_options(spank_t spank);

// -- slurmstepd (as root); all waiting of a step is at most timeout_ms --------

// Reads options that did not come as flags: the job's PENSTOCK_* variables, and
// the flags that Slurm drops from a batch step with `sbatch --export=NONE`.
int finish_step_options(spank_t spank);

// Announces a task to penstockd before its exec and waits for the reply,
// because the task's CPUs may be lent. Logs a failure in one line.
int announce_task(spank_t spank);
int announce_task_exit(spank_t spank);
int announce_step_end(spank_t spank);

// -- slurmstepd as the epilog's helper (as root) ------------------------------

int announce_job_end(spank_t spank);

}  // namespace penstock::spank
