// Jobs that measure what they do with less than they have (penstock analyze).
#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/agent.h"

namespace penstock {
namespace {

constexpr uint64_t kLapses_ns =
    uint64_t{PENSTOCK_LIMIT_LAPSES_S} * 1'000'000'000;

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
  if (asked.bytes_per_s > 0 && pool_of(job) < 0) {
    return refuse(ENODEV, "the job's files are in no pool of penstock.conf");
  }
  const bool is_renewal = is_same(job.measured_limit, asked);
  job.measured_limit = MeasuredLimit{asked.millicores, asked.bytes_per_s,
                                     monotonic_ns() + kLapses_ns};
  const Status held = hold(job);
  if (!is_renewal) rebalance(GrantCause::kAnalysis);
  if (held) return Answer{};
  end_limit(job);
  return refuse(ENOTSUP, held.error().message);
}

// Its processes as of now: what they start is held with them.
Status Agent::hold(Job& job) {
  const uint32_t millicores = job.measured_limit->millicores;
  if (millicores == 0) {
    return machine_.backend.clear_cpu_limit(job.id, finder());
  }
  std::vector<Home> homes;
  for (const auto& [pid, task] : job.tasks) {
    for (pid_t process : task.processes) {
      auto home = machine_.backend.home_of(TaskId{process, 0});
      if (home) homes.push_back(*std::move(home));
    }
  }
  const uint64_t all = uint64_t{millicores} * job.ranks();
  return machine_.backend.set_cpu_limit(
      job.id, homes, uint32_t(std::min<uint64_t>(all, UINT32_MAX)));
}

void Agent::end_limit(Job& job) {
  if (!job.measured_limit) return;
  job.measured_limit.reset();
  const Status cleared = machine_.backend.clear_cpu_limit(job.id, finder());
  if (!cleared) {
    leftovers_ = true;
    log_warning("job {}: lifting its CPU limit: {}", job.id,
                cleared.error().message);
  }
  rebalance(GrantCause::kAnalysis);
}

void Agent::end_lapsed_limits(uint64_t now_ns) {
  for (auto& [id, job] : registry_.jobs()) {
    if (job.measured_limit && now_ns >= job.measured_limit->lapses_ns) {
      end_limit(job);
    }
  }
}

}  // namespace penstock
