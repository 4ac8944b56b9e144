#include "node_agent/control_loop.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/grant_changes.h"

namespace penstock {
namespace {

constexpr uint64_t kTick_ms = 20;
// Time for sending threads of all jobs away in one tick. The rest waits for the
// next tick, because an owner may recall a CPU meanwhile.
constexpr uint64_t kSend_ns = 20'000'000;

}  // namespace

Status ControlLoop::start(std::function<void()> before_tick) {
  before_tick_ = std::move(before_tick);
  Result<int> timer = node_.machine.loop.add_timer(0, [this] { tick(); });
  if (!timer) return std::move(timer).error();
  timer_ = *timer;
  return Done{};
}

void ControlLoop::adjust() {
  std::map<JobId, Job>& jobs = node_.registry.jobs();
  const bool wanted = std::any_of(jobs.begin(), jobs.end(), [](auto& entry) {
    return needs_ticks(entry.second);
  });
  if (wanted == ticking_) return;
  ticking_ = wanted;
  beat();
  ticked_ns_ = monotonic_ns();
  (void)node_.machine.loop.set_period(timer_, wanted ? kTick_ms : 0);
}

void ControlLoop::beat() const {
  const std::map<JobId, Job>& jobs = node_.registry.jobs();
  const bool is_limited =
      std::any_of(jobs.begin(), jobs.end(), [](const auto& entry) {
        return entry.second.measured_limit.has_value();
      });
  node_.machine.heartbeat(ticking_ || is_limited);
}

void ControlLoop::tick() {
  const uint64_t now_ns = monotonic_ns();
  const double tick_ms = double(now_ns - ticked_ns_) * 1e-6;
  ticked_ns_ = now_ns;
  before_tick_();
  Status idle = node_.machine.cpu_idle.refresh();
  if (!idle) log_warning("{}", idle.error().message);
  uint64_t send_left_ns = kSend_ns;
  for (auto& [id, job] : node_.registry.jobs()) {
    const Enforcer::Tick done =
        enforcer_.tick(job, double(now_ns) * 1e-6, tick_ms,
                       node_.machine.cpu_idle, send_left_ns);
    if (done.lent_again) record_lent_again(job, {unix_s(), now_ns});
    if (done.recalled) record_recall(job, {unix_s(), now_ns});
  }
}

}  // namespace penstock
