// `penstock off` and `penstock on`. Off is a mark in StateDir that also holds
// for the next penstockd. While off, jobs are registered and watched as usual,
// so that `on` needs no restart. Plans grant nothing, and controllers see jobs
// on their entitlement and no idle CPUs.
#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "common/state_dir.h"
#include "node_agent/agent.h"
#include "report/text.h"

namespace penstock {
namespace {

bool is_away(const Unit* unit) { return unit->away; }

// True if the job has more or less than Slurm gave it.
bool is_touched(Job& job) {
  const auto units = job.units();
  return !job.away_now.empty() || job.limit_bytes_per_s > 0 ||
         job.measured_limit.has_value() ||
         std::any_of(units.begin(), units.end(), is_away) ||
         std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
           return !task.second.loader_cpus.empty();
         });
}

}  // namespace

void Agent::look_for_off_mark() {
  Result<std::optional<double>> since = off_since_unix_s(machine_.state_dir_fd);
  if (!since) {
    log_warning("StateDir: {}: taken for on", since.error().message);
    return;
  }
  off_since_unix_s_ = *since;
  if (!is_off()) return;
  log_warning("off since {}: nothing is granted until penstock on",
              date_text(*off_since_unix_s_));
}

Result<NodeSwitch> Agent::switch_off() {
  // Without the mark, Penstock is off only until penstockd ends.
  Result<double> since = mark_off(machine_.state_dir_fd);
  NodeSwitch done{since.value_or(unix_s()), 0, 0};
  if (!is_off()) {
    for (auto& [id, job] : registry_.jobs()) {
      if (is_touched(job)) ++done.jobs;
    }
  }
  off_since_unix_s_ = done.off_since_unix_s;
  rebalance(GrantCause::kSwitchedOff);
  done.not_home = not_home_ = release_all();
  log_warning("switched off: {} jobs have what Slurm gave them{}", done.jobs,
              done.not_home == 0 ? "" : "; not all is home yet");
  if (since) return done;
  return std::move(since).error().wrap(
      "off until penstockd ends, as StateDir cannot be written to");
}

// Returns everything to Slurm's settings. Returns the number of jobs for which
// this is incomplete; refresh_groups() tries those again.
uint32_t Agent::release_all() {
  uint32_t not_home = 0;
  for (auto& [id, job] : registry_.jobs()) {
    for (auto& [pid, task] : job.tasks) put_together(task);
    job.measured_limit.reset();
    const Status released = enforcer_.release(job, finder());
    const auto units = job.units();
    if (!released || std::any_of(units.begin(), units.end(), is_away)) {
      ++not_home;
      const std::string text =
          "not all was home at once: " +
          (released ? "a thread is away" : released.error().message);
      if (job.note(text)) log_warning("job {}: {}", id, text);
    }
    note_if_off(job);
  }
  adjust_tick();
  return not_home;
}

void Agent::note_if_off(Job& job) const {
  if (!is_off() || !job.managed) return;
  job.note("Penstock was switched off on this node for a part of the run");
}

Result<NodeSwitch> Agent::switch_on() {
  Status unmarked = unmark_off(machine_.state_dir_fd);
  if (!unmarked) return std::move(unmarked).error().wrap("StateDir");
  NodeSwitch done;
  for (auto& [id, job] : registry_.jobs()) {
    if (job.managed && !job.tasks.empty()) ++done.jobs;
  }
  if (!is_off()) return done;
  off_since_unix_s_.reset();
  take_up_again();
  rebalance(GrantCause::kSwitchedOn);
  log_info("switched on");
  return done;
}

// Sets the managed jobs up again, when no loans and no groups exist.
void Agent::take_up_again() {
  for (auto& [id, job] : registry_.jobs()) {
    if (!job.managed) continue;
    job.away_policy = AwayPolicy();  // the old one would count the time off
    for (auto& [pid, task] : job.tasks) {
      introduce(job, task);
      attach_io(job, task);
    }
    mark_for_scan(id);
  }
}

}  // namespace penstock
