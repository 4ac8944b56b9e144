#include "node_agent/grant_changes.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kSameCores = 0.01;
constexpr double kSameBandwidth = 0.05;  // relative to the larger value

// The visible figures of a grant.
struct Figures {
  double cores = 0;
  double away = 0;
  std::optional<double> bytes_per_s;
};

Figures figures_of(const PlannedGrant& grant, double share_away) {
  const double away = grant.away_cores * share_away;
  Figures figures{grant.home_cores + away, away, std::nullopt};
  if (grant.bytes_per_s > 0) figures.bytes_per_s = grant.bytes_per_s;
  return figures;
}

// The share of the lent CPUs that the control loop uses.
double share_in_use(const Job& job) {
  if (job.grant.away_cpus.empty()) return 1;
  return double((job.grant.away_cpus & job.loan.cpus).size()) /
         double(job.grant.away_cpus.size());
}

bool is_close(double a, double b) { return std::abs(a - b) < kSameCores; }

bool is_close(const std::optional<double>& a, const std::optional<double>& b) {
  const double most = std::max(a.value_or(0), b.value_or(0));
  return std::abs(a.value_or(0) - b.value_or(0)) <= kSameBandwidth * most;
}

bool is_close(const Figures& a, const Figures& b) {
  return is_close(a.cores, b.cores) && is_close(a.away, b.away) &&
         is_close(a.bytes_per_s, b.bytes_per_s);
}

Figures end_of(const GrantChange& change) {
  return {change.cores_to.value_or(0), change.away_to.value_or(0),
          change.bytes_per_s_to};
}

void add(Job& job, GrantCause cause, const Figures& to, const Moment& now) {
  GrantChange change;
  change.time_unix_s = now.unix_s;
  change.cause = cause;
  change.cores_to = to.cores;
  change.away_to = to.away;
  change.bytes_per_s_to = to.bytes_per_s;
  if (!job.changes.list.empty()) {
    const GrantChange& last = job.changes.list.back();
    change.cores_from = last.cores_to;
    change.away_from = last.away_to;
    change.bytes_per_s_from = last.bytes_per_s_to;
  }
  change.rate_before = recent_rate(job, double(now.ns) * 1e-9, kRateAround_s);
  ++job.changes.by_cause[static_cast<size_t>(cause)];
  if (job.changes.list.size() >= kMaxGrantChanges) {
    job.changes.list.erase(job.changes.list.begin());
    ++job.changes.dropped;
  }
  job.changes.list.push_back(change);
}

}  // namespace

void record_plan(Job& job, const PlannedGrant& before, GrantCause cause,
                 const Moment& now) {
  const Figures to = figures_of(job.grant, 1);
  if (!job.changes.list.empty()) {
    const GrantChange& last = job.changes.list.back();
    // After a recall, an unchanged plan lends nothing again, so compare the
    // plans.
    const bool is_same = last.cause == GrantCause::kRecall
                             ? is_close(figures_of(before, 1), to)
                             : is_close(end_of(last), to);
    if (is_same && before.away_cpus == job.grant.away_cpus) return;
  }
  add(job, cause, to, now);
}

void record_recall(Job& job, const Moment& now) {
  if (now.ns < job.changes.next_recall_entry_ns) return;
  job.changes.next_recall_entry_ns = now.ns + kRecallEntries_ns;
  add(job, GrantCause::kRecall, figures_of(job.grant, share_in_use(job)), now);
}

void record_lent_again(Job& job, const Moment& now) {
  if (job.changes.list.empty() ||
      job.changes.list.back().cause != GrantCause::kRecall) {
    return;
  }
  add(job, GrantCause::kIdleCpus, figures_of(job.grant, share_in_use(job)),
      now);
}

void record_rate_after(Job& job, const Moment& now) {
  for (auto change = job.changes.list.rbegin();
       change != job.changes.list.rend(); ++change) {
    if (change->rate_after) break;
    if (now.unix_s - change->time_unix_s >= kRateAround_s) {
      change->rate_after =
          recent_rate(job, double(now.ns) * 1e-9, kRateAround_s - 1);
    }
  }
}

}  // namespace penstock
