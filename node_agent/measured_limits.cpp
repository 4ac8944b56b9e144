#include "node_agent/measured_limits.h"

#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "common/log.h"

namespace penstock {
namespace {

constexpr uint64_t kLapses_ns =
    uint64_t{PENSTOCK_LIMIT_LAPSES_S} * 1'000'000'000;
// Inspecting and moving more processes takes too long for one message.
constexpr size_t kMostProcesses = 512;

bool is_same(const std::optional<MeasuredLimit>& limit,
             const penstock_limit& asked) {
  return limit && limit->millicores == asked.millicores &&
         limit->bytes_per_s == asked.bytes_per_s;
}

}  // namespace

Answer MeasuredLimits::on_limit(const penstock_limit& asked, const Peer& peer) {
  Result<Registry::Owner> owner = node_.registry.owner_of(peer.pid);
  if (!owner) return refuse(ENOENT, owner.error().message);
  Job& job = *owner->job;
  if (peer.uid != job.uid) {
    return refuse(EPERM, "this job is another user's");
  }
  if (!job.managed) return refuse(ENOENT, "the job is not managed");
  if (node_.is_off()) return refuse(EAGAIN, "Penstock is off on this node");
  if (job.observed) {
    return refuse(EAGAIN, "Mode=observe in penstock.conf: nothing is changed");
  }
  if (asked.ends == 1) {
    end(job);
    return Answer{};
  }
  if (asked.bytes_per_s > 0 && pools_.of(job).empty()) {
    return refuse(ENODEV, "it reads from no pool that the kernel can limit");
  }
  const uint64_t lapses_ns = monotonic_ns() + kLapses_ns;
  if (is_same(job.measured_limit, asked)) {
    // Processes that it has started since then inherit the limit.
    job.measured_limit->lapses_ns = lapses_ns;
    return Answer{};
  }
  job.measured_limit =
      MeasuredLimit{asked.millicores, asked.bytes_per_s, lapses_ns};
  return set(job);
}

Answer MeasuredLimits::set(Job& job) {
  const Status held = hold(job);
  if (!held) {
    // The job may measure in another way: it keeps a limit without CPUs, so
    // that it neither lends nor borrows.
    job.measured_limit->millicores = 0;
    clear_cpu_limit(job);
  }
  const bool is_planned = rebalancer_.rebalance_for_limits();
  if (!held) return refuse(ENOTSUP, held.error().message);
  if (is_planned && job.measured_limit->bytes_per_s > 0 &&
      job.reads.limit_bytes_per_s == 0) {
    job.measured_limit->bytes_per_s = 0;
    return refuse(ENOTSUP, "the kernel did not take the limit of bandwidth");
  }
  return Answer{};
}

// Limits the job's current processes; their children inherit the group. A
// listed pid may belong to another job by now, hence is_of_job().
Status MeasuredLimits::hold(const Job& job) {
  const uint32_t millicores = job.measured_limit->millicores;
  if (millicores == 0) {
    return node_.machine.backend.clear_cpu_limit(job.id, node_.finder());
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
      const auto id = node_.machine.proc.identity(process);
      if (!id || !scanner_.is_of_job(task, process)) continue;
      auto home = node_.machine.backend.home_of(*id);
      if (home) homes.push_back(*std::move(home));
    }
  }
  const uint64_t all = uint64_t{millicores} * job.ranks();
  return node_.machine.backend.set_cpu_limit(
      job.id, homes, uint32_t(std::min<uint64_t>(all, UINT32_MAX)));
}

// If the limit cannot be lifted now, every sample tries again.
void MeasuredLimits::end(Job& job) {
  if (!job.measured_limit) return;
  job.measured_limit = MeasuredLimit{};
  if (clear_cpu_limit(job)) job.measured_limit.reset();
  (void)rebalancer_.rebalance_for_limits();
}

bool MeasuredLimits::clear_cpu_limit(Job& job) {
  const Status cleared =
      node_.machine.backend.clear_cpu_limit(job.id, node_.finder());
  if (cleared) return true;
  const std::string text =
      "its CPU limit could not be lifted at once: " + cleared.error().message;
  if (job.note(text)) log_warning("job {}: {}", job.id, text);
  return false;
}

void MeasuredLimits::end_lapsed(uint64_t now_ns) {
  for (auto& [id, job] : node_.registry.jobs()) {
    if (job.measured_limit && now_ns >= job.measured_limit->lapses_ns) {
      end(job);
    }
  }
}

}  // namespace penstock
