#include "node_agent/off_switch.h"

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "common/state_dir.h"
#include "report/text.h"

namespace penstock {
namespace {

bool is_away(const Unit* unit) { return unit->away; }

// True if the job has more or less than Slurm gave it.
bool is_touched(Job& job) {
  const auto units = job.units();
  return !job.loan.cpus.empty() || job.reads.limit_bytes_per_s > 0 ||
         job.measured_limit.has_value() ||
         std::any_of(units.begin(), units.end(), is_away) ||
         std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
           return !task.second.loader_cpus.empty();
         });
}

}  // namespace

void OffSwitch::look_for_mark() {
  Result<std::optional<double>> since =
      off_since_unix_s(node_.machine.state_dir_fd);
  if (!since) {
    log_warning("StateDir: {}: taken for on", since.error().message);
    return;
  }
  node_.off_since_unix_s = *since;
  if (!node_.is_off()) return;
  log_warning("off since {}: nothing is granted until penstock on",
              date_text(*node_.off_since_unix_s));
}

Result<NodeSwitch> OffSwitch::switch_off() {
  // Without the mark, Penstock is off only until penstockd ends.
  Result<double> since = mark_off(node_.machine.state_dir_fd);
  NodeSwitch done{since.value_or(unix_s()), 0, 0};
  if (!node_.is_off()) {
    for (auto& [id, job] : node_.registry.jobs()) {
      if (is_touched(job)) ++done.jobs;
    }
  }
  node_.off_since_unix_s = done.off_since_unix_s;
  rebalancer_.rebalance(GrantCause::kSwitchedOff);
  done.not_home = not_home_ = release_all();
  node_.save_state();
  log_warning("switched off: {} jobs have what Slurm gave them{}", done.jobs,
              done.not_home == 0 ? "" : "; not all is home yet");
  if (since) return done;
  return std::move(since).error().wrap(
      "off until penstockd ends, as StateDir cannot be written to");
}

void OffSwitch::look_at_modes() {
  bool is_changed = false;
  for (auto& [id, job] : node_.registry.jobs()) {
    const bool was_observed = job.observed, was_guest = job.guest;
    const bool was_managed = job.managed;
    if (!node_.settle(job) || !(job.managed || was_managed)) continue;
    is_changed = true;
    if (job.observed != was_observed && job.quality.periods > 0) {
      job.note("Mode= changed during the run: Penstock acted for a part of it");
    }
    if (job.guest != was_guest) begin_anew(job);
    lifecycle_.set_up_again(job);
  }
  if (!is_changed) return;
  rebalancer_.rebalance(GrantCause::kReload);
  not_home_ = release_all();
  node_.save_state();  // the guardian must know which loaders are apart
}

// For a job that has become a guest, or is none any more.
void OffSwitch::begin_anew(Job& job) {
  for (auto& [pid, task] : job.tasks) separation_.give_up(task);
  (void)enforcer_.release(job, node_.finder());
  job.loader.evidence = LoaderEvidence::kNone;
}

void OffSwitch::release_rest() {
  if (not_home_ > 0) not_home_ = release_all();
}

// Returns all jobs for which Penstock does not act to Slurm's settings. Returns
// the number of jobs for which this is incomplete; release_rest() tries those
// again.
uint32_t OffSwitch::release_all() {
  uint32_t not_home = 0;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (node_.acts_for(job)) continue;
    for (auto& [pid, task] : job.tasks) separation_.give_up(task);
    job.measured_limit.reset();
    const Status released = enforcer_.release(job, node_.finder());
    const auto units = job.units();
    if (!released || std::any_of(units.begin(), units.end(), is_away)) {
      ++not_home;
      const std::string text =
          "not all was home at once: " +
          (released ? "a thread is away" : released.error().message);
      if (job.note(text)) log_warning("job {}: {}", id, text);
    }
    node_.note_if_off(job);
  }
  control_loop_.adjust();
  return not_home;
}

Result<NodeSwitch> OffSwitch::switch_on() {
  Status unmarked = unmark_off(node_.machine.state_dir_fd);
  if (!unmarked) return std::move(unmarked).error().wrap("StateDir");
  NodeSwitch done;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (job.managed && !job.observed && !job.tasks.empty()) ++done.jobs;
  }
  if (!node_.is_off()) return done;
  node_.off_since_unix_s.reset();
  not_home_ = release_all();
  lifecycle_.set_up_all_again();
  node_.save_state();
  rebalancer_.rebalance(GrantCause::kSwitchedOn);
  log_info("switched on");
  return done;
}

}  // namespace penstock
