// Limits of jobs that measure themselves with fewer resources (penstock
// analyze).
#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/agent.h"

namespace penstock {
namespace {

constexpr uint64_t kLapses_ns =
    uint64_t{PENSTOCK_LIMIT_LAPSES_S} * 1'000'000'000;
// Inspecting and moving more processes takes too long for one message.
constexpr size_t kMostProcesses = 512;

Answer refuse(int error, std::string text) {
  return {error, std::move(text), {}, {}, true};
}

bool is_same(const std::optional<MeasuredLimit>& limit,
             const penstock_limit& asked) {
  return limit && limit->millicores == asked.millicores &&
         limit->bytes_per_s == asked.bytes_per_s;
}

}  // namespace

Answer Agent::on_limit(const penstock_limit& asked, const Peer& peer) {
  Result<Registry::Owner> owner = registry_.owner_of(peer.pid);
  if (!owner) return refuse(ENOENT, owner.error().message);
  Job& job = *owner->job;
  if (peer.uid != job.uid) {
    return refuse(EPERM, "this job is another user's");
  }
  if (!job.managed) return refuse(ENOENT, "the job is not managed");
  if (is_off()) return refuse(EAGAIN, "Penstock is off on this node");
  if (asked.ends == 1) {
    end_limit(job);
    return Answer{};
  }
  const int pool = pool_of(job);
  if (asked.bytes_per_s > 0 &&
      (pool < 0 || pool_devices_[size_t(pool)].empty())) {
    return refuse(ENODEV, "there is no pool that the kernel can limit for it");
  }
  const uint64_t lapses_ns = monotonic_ns() + kLapses_ns;
  if (is_same(job.measured_limit, asked)) {
    // Processes that it has started since then inherit the limit.
    job.measured_limit->lapses_ns = lapses_ns;
    return Answer{};
  }
  job.measured_limit =
      MeasuredLimit{asked.millicores, asked.bytes_per_s, lapses_ns};
  const Status held = hold(job);
  if (!held) {
    // The job may measure in another way: it keeps a limit without CPUs, so
    // that it neither lends nor borrows.
    job.measured_limit->millicores = 0;
    clear_cpu_limit(job);
  }
  const bool is_planned = plan_for_limits();
  if (!held) return refuse(ENOTSUP, held.error().message);
  if (is_planned && asked.bytes_per_s > 0 && job.limit_bytes_per_s == 0) {
    job.measured_limit->bytes_per_s = 0;
    return refuse(ENOTSUP, "the kernel did not take the limit of bandwidth");
  }
  return Answer{};
}

// Users must not control how often penstockd plans. Within the minimum
// interval, the next sample plans instead.
bool Agent::plan_for_limits() {
  const double since_ms = double(monotonic_ns() - planned_ns_) * 1e-6;
  limits_changed_ = since_ms < double(config_.min_solve_interval_ms);
  if (!limits_changed_) rebalance(GrantCause::kAnalysis);
  return !limits_changed_;
}

// Limits the job's current processes; their children inherit the group. A
// listed pid may belong to another job by now, hence is_of_job().
Status Agent::hold(Job& job) {
  const uint32_t millicores = job.measured_limit->millicores;
  if (millicores == 0) {
    return machine_.backend.clear_cpu_limit(job.id, finder());
  }
  size_t processes = 0;
  for (const auto& [pid, task] : job.tasks) processes += task.processes.size();
  if (processes > kMostProcesses) {
    return Error{Code::kLimit, 0,
                 "it has " + std::to_string(processes) +
                     " processes here, and up to " +
                     std::to_string(kMostProcesses) + " can be held"};
  }
  std::vector<Home> homes;
  for (const auto& [pid, task] : job.tasks) {
    for (pid_t process : task.processes) {
      const auto id = machine_.proc.identity(process);
      if (!id || !scanner_.is_of_job(task, process)) continue;
      auto home = machine_.backend.home_of(*id);
      if (home) homes.push_back(*std::move(home));
    }
  }
  const uint64_t all = uint64_t{millicores} * job.ranks();
  return machine_.backend.set_cpu_limit(
      job.id, homes, uint32_t(std::min<uint64_t>(all, UINT32_MAX)));
}

// If the limit cannot be lifted now, every sample tries again.
void Agent::end_limit(Job& job) {
  if (!job.measured_limit) return;
  job.measured_limit = MeasuredLimit{};
  if (clear_cpu_limit(job)) job.measured_limit.reset();
  (void)plan_for_limits();
}

bool Agent::clear_cpu_limit(Job& job) {
  const Status cleared = machine_.backend.clear_cpu_limit(job.id, finder());
  if (cleared) return true;
  const std::string text =
      "its CPU limit could not be lifted at once: " + cleared.error().message;
  if (job.note(text)) log_warning("job {}: {}", job.id, text);
  return false;
}

void Agent::end_lapsed_limits(uint64_t now_ns) {
  for (auto& [id, job] : registry_.jobs()) {
    if (job.measured_limit && now_ns >= job.measured_limit->lapses_ns) {
      end_limit(job);
    }
  }
}

}  // namespace penstock
