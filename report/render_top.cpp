#include <fmt/format.h>

#include <algorithm>

#include "common/shown_text.h"
#include "common/units.h"
#include "report/render.h"
#include "report/text.h"

namespace penstock {
namespace {

std::string latency_text(const char* label, const LatencyFigures& figures) {
  return fmt::format(
      "  {:<12}{:>8} times  p50 {:>8} ms  p99 {:>8} ms  max "
      "{:>8} ms",
      label, figures.count, figure_text(figures.p50_ms),
      figure_text(figures.p99_ms), figure_text(figures.max_ms));
}

void render_pool(const PoolStatus& pool, Page& page) {
  page.line(fmt::format(
      "  {:<20} {:>12} of {:>12} {:>5}  {} job{}",
      printable(pool.name).substr(0, 20), rate_text(pool.used_bytes_per_s),
      rate_text(pool.bandwidth_bytes_per_s),
      share_text(ratio(pool.used_bytes_per_s, pool.bandwidth_bytes_per_s)),
      pool.jobs, pool.jobs == 1 ? "" : "s"));
}

std::optional<double> value_of(const std::optional<Estimate>& estimate) {
  if (!estimate) return std::nullopt;
  return estimate->value;
}

// "~" marks the kernel's figure, where the job reports no waiting time.
std::string stall_text(const Breakdown& breakdown, const TimePart& part) {
  const bool is_guess = part.seconds && !breakdown.waited_s;
  return (is_guess ? "~" : "") +
         share_text(ratio(part.seconds, breakdown.wall_s));
}

void render_job(const JobReport& job, Page& page) {
  const Compared& ceiling = job.ceiling;
  std::optional<double> rate = value_of(job.throughput.measured);
  std::optional<double> top =
      value_of(ceiling.corrected ? ceiling.corrected : ceiling.predicted);
  auto used_of = [](const auto& used, const auto& granted) {
    return fmt::format("{}/{}", figure_text(used), figure_text(granted));
  };
  const CoreFigures& cores = job.cores;
  page.line(
      fmt::format("{:>8} {:<12} {:>7} {:>5} {:>10} {:>10} {:>10} {:>5} {:>4}",
                  job.job_id, shown_in_columns(job.job_name, 12),
                  figure_text(rate), share_text(ratio(rate, top)),
                  used_of(cores.used_home, cores.granted_home),
                  used_of(cores.used_away, cores.granted_away),
                  rate_text(job.bandwidth.used_bytes_per_s),
                  stall_text(job.breakdown, job.breakdown.parts.fetch_stall),
                  stall_text(job.breakdown, job.breakdown.parts.prep_stall)),
      22);
}

}  // namespace

std::string render_top(const NodeStatus& status, const TextStyle& style) {
  Page page(style);
  page.line(
      fmt::format("{}  policy {}  {} CPUs  {}", status.node, status.policy,
                  figure_text(status.cores), date_text(status.time_unix_s)),
      4, Page::Tone::kHeading);
  page.line(fmt::format(
      "  penstockd {}, up {}, using {:.2f}% of one core", status.version,
      duration_text(status.uptime_s),
      100 * ratio(status.agent_cpu_s, status.uptime_s).value_or(0)));
  if (status.off_since_unix_s) {
    page.line(
        fmt::format("  off since {}: jobs have what Slurm gave them, until "
                    "penstock on",
                    date_text(*status.off_since_unix_s)),
        4, Page::Tone::kBad);
  }
  if (!status.idle_not_lent.empty()) {
    page.line("  idle CPUs are not lent: " + status.idle_not_lent, 4,
              Page::Tone::kBad);
  }
  page.line(latency_text("rebalance", status.rebalance));
  page.line(latency_text("recall", status.recall));
  page.line(latency_text("launch", status.launch));
  if (status.grant.count > 0) page.line(latency_text("grant", status.grant));
  if (!status.pools.empty()) page.heading("Pools");
  for (const PoolStatus& pool : status.pools) render_pool(pool, page);
  page.heading(fmt::format(
      "{:>8} {:<12} {:>7} {:>5} {:>10} {:>10} {:>10} {:>5} {:>4}", "JOB",
      "NAME", "RATE/S", "CEIL%", "HOME", "AWAY", "STORAGE", "FETCH", "PREP"));
  if (status.jobs.empty()) page.line("  no managed job of yours is running");
  for (const JobReport& job : status.jobs) render_job(job, page);
  const auto observed = std::count_if(
      status.jobs.begin(), status.jobs.end(),
      [](const JobReport& job) { return job.would_have.has_value(); });
  if (observed > 0) {
    page.line(fmt::format(
        "  only observed (Mode=observe), for all of the run or a part: {} "
        "job{}",
        observed, observed == 1 ? "" : "s"));
  }
  page.line("");
  page.line(
      "HOME and AWAY are cores used/granted, away on lent CPUs; FETCH and "
      "PREP are shares of wall time spent waiting for data.");
  return page.take();
}

}  // namespace penstock
