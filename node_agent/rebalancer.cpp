#include "node_agent/rebalancer.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/correction.h"
#include "node_agent/grant_changes.h"
#include "node_agent/job_totals.h"
#include "node_agent/plan/dropped_loans.h"
#include "node_agent/plan_input.h"

namespace penstock {
namespace {

// The CPUs that the jobs hold or borrow.
CpuSet cpus_of(const Plan& plan, const PlanInput& input) {
  CpuSet all;
  for (const PlanJob& job : input.jobs) all = all | job.own_cpus;
  for (const PlannedGrant& grant : plan.grants) all = all | grant.away_cpus;
  return all;
}

}  // namespace

void Rebalancer::request(GrantCause cause, uint64_t since_ns) {
  if (!request_) {
    request_ = Request{cause, since_ns};
    return;
  }
  request_->cause = std::max(request_->cause, cause);
  const bool is_first =
      request_->since_ns == 0 || since_ns < request_->since_ns;
  if (since_ns != 0 && is_first) request_->since_ns = since_ns;
}

void Rebalancer::rebalance_if_requested() {
  if (const auto asked = std::exchange(request_, std::nullopt)) {
    rebalance(asked->cause, asked->since_ns);
  }
}

void Rebalancer::rebalance(GrantCause cause, uint64_t since_ns) {
  PlanInput input = plan_input(node_, gpus_);
  if (!node_.is_off()) controllers_.apply_grant_to(input);
  Result<Plan> plan = node_.is_off() ? slurms_plan(input) : make_plan(input);
  if (!plan) {
    log_warning("no plan ({}): every job keeps its entitlement",
                plan.error().message);
    plan = entitlement_plan(input);
  }
  drop_loans(*plan, [&](uint64_t lender, size_t borrower) {
    return may_lend(lender, input.jobs[borrower]);
  });
  lift_limits_of_observed(input, *plan);
  std::map<JobId, PlannedGrant> before;
  for (const PlanJob& job : input.jobs) {
    before[JobId(job.id)] = node_.registry.find_job(JobId(job.id))->grant;
  }
  credit_loans();
  enforcer_.apply(*plan, input.jobs, pools_.names(), node_.registry.jobs());
  lender_of_cpu_ = plan->lender_of_cpu;
  const uint64_t now_ns = monotonic_ns();
  if (since_ns != 0 && now_ns > since_ns) {
    node_.rebalance_latency.add_ms(double(now_ns - since_ns) * 1e-6);
  }
  planned_ns_ = now_ns;
  planned_.clear();
  planned_cpus_ = cpus_of(*plan, input);
  planned_idle_ = input.idle_cpus;
  planned_barred_ = barred_lenders(node_);
  for (const PlanJob& job : input.jobs) {
    planned_[JobId(job.id)] = job;
    Job& record = *node_.registry.find_job(JobId(job.id));
    record.was_acted_for |= node_.acts_for(record);
    record_plan(record, before[JobId(job.id)], cause, {unix_s(), now_ns});
    note_missing(input, job, record);
  }
  imagine();
  control_loop_.adjust();
  controllers_.report(input);
}

// Beside observed jobs, limits of a pool would only slow the others down.
void Rebalancer::lift_limits_of_observed(const PlanInput& input,
                                         Plan& plan) const {
  const auto record = [&](const PlanJob& job) -> const Job& {
    return node_.registry.jobs().at(JobId(job.id));
  };
  std::set<int> pools;
  for (const PlanJob& job : input.jobs) {
    const Job& it = record(job);
    if (it.observed) pools.insert(node_.pool_of(it));
  }
  for (size_t i = 0; i < input.jobs.size(); ++i) {
    const PlanJob& job = input.jobs[i];
    if (record(job).observed) {
      plan.grants[i].bytes_per_s = 0;
    } else if (pools.contains(job.pool)) {
      plan.grants[i].bytes_per_s = double(job.max_bytes_per_s);
    }
  }
}

// What observed jobs would be lent now, and would lend.
void Rebalancer::imagine() {
  std::map<JobId, Job>& jobs = node_.registry.jobs();
  const bool is_needed =
      !node_.is_off() && std::any_of(jobs.begin(), jobs.end(), [](auto& entry) {
        return entry.second.observed && entry.second.managed;
      });
  std::map<uint64_t, ImaginedLoans> loans;
  if (is_needed) {
    const PlanInput input = imagined_input(node_, gpus_);
    Result<std::map<uint64_t, ImaginedLoans>> found =
        imagine_loans(input, [&](uint64_t lender, size_t borrower) {
          return may_lend(lender, input.jobs[borrower]);
        });
    if (found) loans = *std::move(found);
  }
  for (auto& [id, job] : jobs) {
    job.imagined.reset();
    if (is_needed && job.observed) job.imagined = loans[id];
  }
}

void Rebalancer::note_missing(const PlanInput& input, const PlanJob& planned,
                              Job& job) const {
  job.missing = missing_cores(input, planned, job.grant);
  // It asked for its limit, to measure.
  if (job.measured_limit) job.missing = {};
  if (job.missing.why == NotLent::kNoCpus && !job.loan.may_borrow) {
    job.missing.why = NotLent::kGroups;
  }
  if (job.observed) job.missing.why = NotLent::kObserved;
  if (node_.is_off()) job.missing.why = NotLent::kSwitchedOff;
}

// Three kinds of borrowers get no loans. The groups of some cannot be lent
// CPUs. Others have no group for away threads, which then yield only within
// their own group. And a job with shared CPUs would lose them to the other
// holder, as borrowing lowers its weight.
bool Rebalancer::may_lend(uint64_t lender, const PlanJob& planned) {
  Job& borrower = *node_.registry.find_job(JobId(planned.id));
  if (!planned.guest && planned.home_cpus != planned.own_cpus) {
    borrower.note("lent no CPUs while other jobs hold some of its own too");
    return false;
  }
  if (!borrower.loan.may_borrow) return false;
  if (lender == 0) return true;
  const Job& owner = node_.registry.jobs().at(JobId(lender));
  Status yields = node_.machine.backend.yields_to(
      borrower.tasks.begin()->second.home,
      owner.tasks.begin()->second.home.cpu_path);
  if (yields) return true;
  if (yields.error().code == Code::kUnavailable) {
    const std::string text =
        "other jobs' CPUs are not lent to it: " + yields.error().message;
    if (borrower.note(text)) log_warning("job {}: {}", borrower.id, text);
  }
  return false;
}

bool Rebalancer::may_plan() const {
  return double(monotonic_ns() - planned_ns_) * 1e-6 >=
         double(node_.config.min_solve_interval_ms);
}

bool Rebalancer::rebalance_for_limits() {
  limits_changed_ = !may_plan();
  if (!limits_changed_) rebalance(GrantCause::kAnalysis);
  return !limits_changed_;
}

void Rebalancer::rebalance_if_changed() {
  if (may_plan() && is_outdated()) {
    rebalance(GrantCause::kMeasuredChange);
  }
}

void Rebalancer::after_sample(uint64_t now_ns) {
  for (auto& [id, job] : node_.registry.jobs()) {
    record_rate_after(job, {unix_s(), monotonic_ns()});
    note_first_ceiling(job, monotonic_ns());
  }
  watch_lenders(now_ns);
  if (!may_plan()) return;
  if (limits_changed_) {
    limits_changed_ = false;
    rebalance(GrantCause::kAnalysis);
  }
  if (is_outdated()) rebalance(GrantCause::kMeasuredChange);
  if (node_.idle_cpus() != planned_idle_) rebalance(GrantCause::kIdleCpus);
}

void Rebalancer::credit_loans() {
  credit_lenders(lender_of_cpu_, node_.registry.jobs());
}

bool Rebalancer::is_outdated() const {
  if (barred_lenders(node_) != planned_barred_) return true;
  const std::map<JobId, Job>& jobs = node_.registry.jobs();
  return std::any_of(jobs.begin(), jobs.end(), [this](const auto& entry) {
    const Job& job = entry.second;
    if (!job.managed || job.tasks.empty()) return false;
    const auto planned = planned_.find(job.id);
    return planned == planned_.end() ||
           has_changed_enough(job, planned->second);
  });
}

// Detects loans that cost the lender more than CPU time (caches, memory
// bandwidth).
void Rebalancer::watch_lenders(uint64_t now_ns) {
  const double now_s = double(now_ns) * 1e-9;
  CpuSet of_guests;
  for (const auto& [id, job] : node_.registry.jobs()) {
    if (job.loan.gives_way) of_guests = of_guests | job.grant.away_cpus;
  }
  std::set<uint64_t> lenders, to_guests;
  for (const auto& [cpu, lender] : lender_of_cpu_) {
    lenders.insert(lender);
    if (of_guests.contains(cpu)) to_guests.insert(lender);
  }
  bool suffered = false;
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!job.managed || job.tasks.empty() || job.stopped) continue;
    if (job.measured_limit) continue;
    LenderWatch::Look look;
    look.now_s = now_s;
    look.lent = lenders.contains(id);
    look.lent_cpu_s = job.totals.lent_cpu_s;
    look.to_guest = to_guests.contains(id);
    look.is_rate = job.reports();
    if (!look.is_rate) {
      look.figure = job.lending.probe.got_share(node_.machine.proc, job.tasks);
      look.is_idle = job.is_idle;
    } else if (!job.rates.empty() && job.rates.back().time_s == now_s) {
      look.figure = job.rates.back().rate;
    }
    LenderWatch& watch = job.lending.watch;
    const double unlent = watch.unlent_figure();
    const double lent = watch.lent_figure();
    const LenderWatch::Verdict verdict = watch.look(look);
    const bool is_by_guests =
        verdict == LenderWatch::Verdict::kSuffersFromGuests;
    if (!is_by_guests && verdict != LenderWatch::Verdict::kSuffers) continue;
    log_info("job {}: {:.3g} {} with its CPUs lent, {:.3g} without: returned{}",
             id, lent, look.is_rate ? "samples/s" : "of the CPU time it wants",
             unlent, is_by_guests ? " by guests" : "");
    suffered = true;
  }
  // kMeasure bars the lender without a plan here; is_outdated() then causes
  // one.
  if (suffered) rebalance(GrantCause::kLenderSuffered);
}

}  // namespace penstock
