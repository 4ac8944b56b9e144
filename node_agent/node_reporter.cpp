#include "node_agent/node_reporter.h"

#include "common/clock.h"
#include "common/version.h"
#include "node_agent/job_metrics.h"
#include "node_agent/job_what_if.h"
#include "node_agent/reporter.h"
#include "report/core_advice.h"
#include "report/notice.h"
#include "report/packed.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;

LatencyFigures figures_of(const LatencyRecord& record) {
  LatencyFigures figures;
  figures.count = record.count();
  if (figures.count == 0) return figures;
  figures.p50_ms = record.percentile_ms(0.5);
  figures.p99_ms = record.percentile_ms(0.99);
  figures.max_ms = record.max_ms();
  return figures;
}

double own_cpu_s() {
  return double(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * kNs;
}

WouldHave would_have_of(const ImaginedTotals& totals) {
  WouldHave out;
  out.observed_s = totals.observed_s();
  out.borrowed_cores = totals.borrowed_core_s() / totals.observed_s();
  out.lent_cores = totals.lent_core_s() / totals.observed_s();
  return out;
}

}  // namespace

JobReport NodeReporter::report_of(const Job& job, bool running) const {
  ReportContext context;
  context.config = &node_.config;
  context.node = node_.machine.node;
  context.node_cpus = node_.machine.topology.cpus.size();
  context.now_unix_s = unix_s();
  context.now_ns = monotonic_ns();
  context.pool = node_.pool_of(job);
  context.process_events = node_.process_events;
  JobReport report = build_report(job, context, running);
  report.launch_problems = job.launch_watch.problems();
  if (!report.launch_problems.empty()) {
    report.what_if = what_if_of(job, report);
    follow_advice(report, report.launch_problems);
    report.what_if.reset();
  }
  report.would_have = job.would_have;
  return report;
}

// Not with each report: a plan makes one of every job.
void NodeReporter::estimate(Job& job) const {
  if (job.imagined_totals.empty()) return;
  job.would_have.reset();
  JobReport report = report_of(job, true);
  report.what_if = what_if_of(job, report);
  WouldHave would_have = would_have_of(job.imagined_totals);
  estimate_saving(report, job.imagined_totals.times(), would_have);
  job.would_have = std::move(would_have);
}

JobReport NodeReporter::full_report_of(const Job& job, bool running,
                                       size_t max_points) const {
  JobReport report = report_of(job, running);
  report.timeline = coarsened(job.course.points(), max_points);
  report.what_if = what_if_of(job, report);
  return report;
}

void NodeReporter::write_report(const Job& job) const {
  const auto format =
      static_cast<penstock_report_format>(job.options.report_format);
  if (format == PENSTOCK_REPORT_NONE) return;
  ReportedJob ended{full_report_of(job, false, SIZE_MAX), job.uid, format,
                    node_.config.report_dir};
  if (!node_.config.controllers.empty()) packer_.add(ended);
  reports_.add(std::move(ended));
}

void NodeReporter::hand_in(const Job& job) const {
  const auto format =
      static_cast<penstock_report_format>(job.options.report_format);
  if (format == PENSTOCK_REPORT_NONE) return;
  packer_.add({full_report_of(job, true, kPackedPoints), job.uid, format, ""});
}

std::string NodeReporter::notice_of(Job& job) const {
  const bool has_report = job.managed && job.tasks.empty() &&
                          job.options.report_format != PENSTOCK_REPORT_NONE;
  if (!has_report || node_.config.report_notice == ReportNotice::kOff) {
    return "";
  }
  const JobReport report = report_of(job, false);
  if (job.noticed_samples == report.quality.samples) return "";
  if (node_.config.report_notice == ReportNotice::kProblems &&
      !has_remedy(report)) {
    return "";
  }
  std::string line = notice(report);
  if (!line.empty()) job.noticed_samples = report.quality.samples;
  return line;
}

NodeStatus NodeReporter::node_status(uid_t uid) const {
  NodeStatus status;
  status.node = node_.machine.node;
  status.version = kVersion;
  status.policy = policy_name(node_.config.policy);
  status.time_unix_s = unix_s();
  status.uptime_s = double(monotonic_ns() - started_ns_) * kNs;
  status.agent_cpu_s = own_cpu_s();
  status.cores = double(node_.machine.topology.cpus.size());
  status.off_since_unix_s = node_.off_since_unix_s;
  status.idle_not_lent = node_.why_idle_not_lent();
  status.rebalance = figures_of(node_.rebalance_latency);
  status.recall = figures_of(enforcer_.recall_latency());
  status.launch = figures_of(node_.launch_latency);
  status.grant = figures_of(node_.grant_latency);
  for (const PoolConfig& pool : node_.config.pools) {
    status.pools.push_back(
        {pool.name, double(pool.bandwidth_bytes_per_s), std::nullopt, 0});
  }
  for (const auto& [id, job] : node_.registry.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    if (const int pool = node_.pool_of(job); pool >= 0) {
      PoolStatus& use = status.pools[size_t(pool)];
      ++use.jobs;
      if (job.reads.knows_bytes) {
        use.used_bytes_per_s =
            use.used_bytes_per_s.value_or(0) + job.reads.bytes_per_s;
      }
    }
    if (uid != 0 && uid != job.uid) continue;
    if (status.jobs.size() >= kMaxStatusJobs) break;
    JobReport report = report_of(job, true);
    report.changes.clear();
    status.jobs.push_back(std::move(report));
  }
  return status;
}

NodeMetrics NodeReporter::metrics() {
  NodeMetrics metrics;
  metrics.status = node_status(0);  // root sees all jobs
  metrics.latency_sums = {
      node_.rebalance_latency.sum_ms(), enforcer_.recall_latency().sum_ms(),
      node_.launch_latency.sum_ms(), node_.grant_latency.sum_ms()};
  metrics.idle_cores = double(node_.idle_cpus().size());
  const double now_s = double(monotonic_ns()) * kNs;
  CpuSet lent;
  for (const auto& [id, job] : node_.registry.jobs()) {
    lent = lent | job.loan.cpus;
  }
  metrics.lent_cores = double(lent.size());
  for (const JobReport& report : metrics.status.jobs) {
    Job& job = *node_.registry.find_job(report.job_id);
    metrics.jobs.push_back(job_metrics(job, report, now_s));
  }
  return metrics;
}

}  // namespace penstock
