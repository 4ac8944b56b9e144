// The metrics for node_exporter.
#include "common/clock.h"
#include "node_agent/agent.h"
#include "node_agent/job_metrics.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;

}  // namespace

void Agent::write_metrics() {
  if (metrics_file_.is_used()) metrics_file_.write(to_prometheus(metrics()));
}

NodeMetrics Agent::metrics() {
  NodeMetrics metrics;
  metrics.status = node_status(Peer{});  // root sees all jobs
  metrics.latency_sums = {rebalance_latency_.sum_ms(),
                          enforcer_.recall_latency().sum_ms(),
                          launch_latency_.sum_ms(), grant_latency_.sum_ms()};
  metrics.idle_cores = double(idle_cpus().size());
  const double now_s = double(monotonic_ns()) * kNs;
  CpuSet lent;
  for (const auto& [id, job] : registry_.jobs()) lent = lent | job.away_now;
  metrics.lent_cores = double(lent.size());
  for (const JobReport& report : metrics.status.jobs) {
    Job& job = *registry_.find_job(report.job_id);
    metrics.jobs.push_back(job_metrics(job, report, now_s));
  }
  return metrics;
}

}  // namespace penstock
