// Planning, and the record of grant changes.
#include <algorithm>
#include <cmath>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/agent.h"
#include "node_agent/grant_changes.h"
#include "node_agent/job_totals.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
// Smaller relative changes of costs cause no new plan.
constexpr double kChanged = 0.05;
constexpr double kChangedUse = 0.1;  // cores
constexpr double kLoaderAppears_s = 10;
// Run time after which the report quotes the first measured ceiling.
constexpr double kFirstCorrection_s = 10;

bool differs(double a, double b) {
  return std::abs(a - b) > kChanged * std::max(std::abs(a), std::abs(b));
}

bool differs(const Prediction& a, const Prediction& b) {
  return differs(a.ceiling_samples_per_s.value,
                 b.ceiling_samples_per_s.value) ||
         differs(a.loader_cpu_s_per_sample.value,
                 b.loader_cpu_s_per_sample.value) ||
         differs(a.storage_bytes_per_sample.value,
                 b.storage_bytes_per_sample.value);
}

// CPUs that several jobs hold at once (gang scheduling, overlap).
std::set<int> shared_cpus(const std::map<JobId, Job>& jobs) {
  std::map<int, int> holders;
  for (const auto& [id, job] : jobs) {
    const CpuSet held = job.cpus();
    for (int cpu : held.cpus()) ++holders[cpu];
  }
  std::set<int> shared;
  for (const auto& [cpu, count] : holders) {
    if (count > 1) shared.insert(cpu);
  }
  return shared;
}

// True if the loader can use more threads than it has. For the first
// kLoaderAppears_s, a profile counts as evidence of a loader. A job whose
// loader is never identified may lend, but never borrows.
bool may_grow(const Job& job, int units) {
  if (job.elastic()) return true;
  const double age_s = double(monotonic_ns() - job.started_ns) * kNs;
  return job.prior && units == 0 && age_s < kLoaderAppears_s;
}

}  // namespace

int Agent::pool_of(const Job& job) const {
  if (config_.pools.empty() || !job.managed) return -1;
  if (job.profile && !job.profile->pool.empty()) {
    for (size_t i = 0; i < config_.pools.size(); ++i) {
      if (config_.pools[i].name == job.profile->pool) return int(i);
    }
    return -1;
  }
  // A job that names no pool is assumed to read from the first one.
  return 0;
}

PlanJob Agent::plan_job(const Job& job, const std::set<int>& shared) const {
  PlanJob entry;
  entry.id = job.id;
  entry.uid = job.uid;
  entry.account = accounts_.of(job.id);
  entry.own_cpus = job.cpus();
  entry.home_cpus =
      entry.own_cpus - CpuSet(std::vector<int>(shared.begin(), shared.end()));
  entry.near_cpus = cpus_near_gpus_of(job);
  entry.stopped = job.stopped;
  if (!job.stopped) entry.reserve_cores = trainer_reserve_cores(job);
  entry.prediction = job.corrected ? job.corrected : job.prior;
  entry.ranks = job.ranks();
  entry.used_loader_cores = job.used_loader_cores;
  entry.starved = job.starved;
  for (const auto& [pid, task] : job.tasks) {
    entry.loader_units += int(task.units.size());
  }
  entry.elastic = may_grow(job, entry.loader_units);
  entry.max_threads = job.options.threads * job.task_count();
  entry.apart = job.is_apart();
  entry.max_bytes_per_s = job.options.bw_bytes_per_s;
  const double weight =
      job.options.weight_milli == 0 ? 1.0 : job.options.weight_milli / 1000.0;
  entry.shares = job.shares();
  entry.weight = weight * double(entry.shares);
  entry.share = job.share;
  entry.pool = pool_of(job);
  entry.pool_pressed = job.pool_pressed;
  entry.on_entitlement = is_off() || job.contradicted ||
                         !job.corrector.trusted() ||
                         job.measured_limit.has_value();
  return entry;
}

PlanInput Agent::plan_input() const {
  PlanInput input;
  input.policy = config_.policy;
  input.lend_across = config_.lend_across;
  input.numa_node_of_cpu = machine_.topology.numa_node_of_cpu;
  input.core_of_cpu = machine_.topology.core_of_cpu;
  for (const PoolConfig& pool : config_.pools) {
    input.pools.push_back(double(pool.bandwidth_bytes_per_s));
  }
  const std::set<int> shared = shared_cpus(registry_.jobs());
  for (const auto& [id, job] : registry_.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    input.jobs.push_back(plan_job(job, shared));
  }
  input.barred_lenders = barred_lenders();
  input.idle_cpus = idle_cpus();
  if (cluster_ && !is_off()) apply_grant(*cluster_, shared_pools(), input);
  return input;
}

// Lendable CPUs that no job holds, whether announced or not.
CpuSet Agent::idle_cpus() const {
  if (!config_.lend_idle || is_off()) return CpuSet();
  CpuSet idle = machine_.topology.cpus;
  if (auto named = CpuSet::parse(config_.managed_cpus);
      named && !named->empty()) {
    idle = idle & *named;
  }
  // Jobs that started while penstockd was down were not announced.
  Result<CpuSet> held = machine_.backend.slurm_cpus();
  if (!held) return CpuSet();
  idle = idle - *held;
  for (const auto& [id, job] : registry_.jobs()) idle = idle - job.cpus();
  return whole_cores(idle, machine_.topology.core_of_cpu);
}

// lender: 0 for an idle CPU.
bool Agent::may_lend(uint64_t lender, Job& borrower) {
  if (!borrower.may_borrow) return false;
  if (lender == 0) return true;
  const Job& owner = registry_.jobs().at(JobId(lender));
  Status yields =
      machine_.backend.yields_to(borrower.tasks.begin()->second.home,
                                 owner.tasks.begin()->second.home.cpu_path);
  if (yields) return true;
  if (yields.error().code == Code::kUnavailable) {
    const std::string text =
        "other jobs' CPUs are not lent to it: " + yields.error().message;
    if (borrower.note(text)) log_warning("job {}: {}", borrower.id, text);
  }
  return false;
}

// Drops loans to three kinds of borrowers. The groups of some cannot be lent
// CPUs. Others have no group for away threads, which then yield only within
// their own group. And a job with shared CPUs would lose them to the other
// holder, as borrowing lowers its weight.
void Agent::drop_loans_that_would_not_yield(Plan& plan,
                                            const std::vector<PlanJob>& jobs) {
  std::set<int> dropped;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job& borrower = *registry_.find_job(JobId(jobs[i].id));
    PlannedGrant& grant = plan.grants[i];
    const size_t before = grant.away_cpus.size();
    const bool is_shared = jobs[i].home_cpus != jobs[i].own_cpus;
    for (const auto& [cpu, lender] : plan.lender_of_cpu) {
      if (!grant.away_cpus.contains(cpu)) continue;
      if (!is_shared && may_lend(lender, borrower)) continue;
      grant.away_cpus = grant.away_cpus - CpuSet({cpu});
      dropped.insert(cpu);
    }
    const size_t lost = before - grant.away_cpus.size();
    if (lost == 0) continue;
    if (is_shared) {
      borrower.note("lent no CPUs while other jobs hold some of its own too");
    }
    grant.away_cores *= double(grant.away_cpus.size()) / double(before);
    // The hint may count fewer threads than CPUs were dropped: CPUs are lent as
    // whole cores, but the thread limit need not fill them.
    grant.loader_threads =
        grant.loader_threads > lost ? grant.loader_threads - uint32_t(lost) : 1;
  }
  for (int cpu : dropped) {
    const bool is_lent = std::any_of(
        plan.grants.begin(), plan.grants.end(),
        [cpu](const PlannedGrant& it) { return it.away_cpus.contains(cpu); });
    if (!is_lent) plan.lender_of_cpu.erase(cpu);
  }
}

// since_ns: time of the event that caused this plan; 0: do not measure.
void Agent::rebalance(GrantCause cause, uint64_t since_ns) {
  const PlanInput input = plan_input();
  Result<Plan> plan = is_off() ? slurms_plan(input) : make_plan(input);
  if (!plan) {
    log_warning("no plan ({}): every job keeps its entitlement",
                plan.error().message);
    plan = entitlement_plan(input);
  }
  drop_loans_that_would_not_yield(*plan, input.jobs);
  std::map<JobId, PlannedGrant> before;
  for (const PlanJob& job : input.jobs) {
    before[JobId(job.id)] = registry_.find_job(JobId(job.id))->grant;
  }
  credit_lenders(lender_of_cpu_, registry_.jobs());
  enforcer_.apply(*plan, input.jobs, pool_devices_, registry_.jobs());
  lender_of_cpu_ = plan->lender_of_cpu;
  const uint64_t now_ns = monotonic_ns();
  if (since_ns != 0 && now_ns > since_ns) {
    rebalance_latency_.add_ms(double(now_ns - since_ns) * 1e-6);
  }
  planned_ns_ = now_ns;
  planned_.clear();
  planned_idle_ = input.idle_cpus;
  planned_barred_ = input.barred_lenders;
  lenders_.clear();
  for (const auto& [cpu, lender] : plan->lender_of_cpu) {
    lenders_.insert(JobId(lender));
  }
  for (const PlanJob& job : input.jobs) {
    planned_[JobId(job.id)] = job;
    Job& record = *registry_.find_job(JobId(job.id));
    record_plan(record, before[JobId(job.id)], cause, {unix_s(), now_ns});
  }
  adjust_tick();
  say_changes(input);
}

void Agent::fill_in_rates() {
  const double now_unix_s = unix_s();
  const double now_s = double(monotonic_ns()) * kNs;
  for (auto& [id, job] : registry_.jobs()) {
    for (auto change = job.changes.rbegin(); change != job.changes.rend();
         ++change) {
      if (change->rate_after) break;
      if (now_unix_s - change->time_unix_s >= kRateAround_s) {
        change->rate_after = recent_rate(job, now_s, kRateAround_s - 1);
      }
    }
    if (!job.first_corrected_ceiling && job.corrected &&
        now_s - double(job.started_ns) * kNs >= kFirstCorrection_s &&
        job.corrector.observed_s() > 0) {
      const Figure& ceiling = job.corrected->ceiling_samples_per_s;
      const double ranks = job.ranks();
      job.first_corrected_ceiling = Estimate{
          ceiling.value * ranks, ceiling.low * ranks, ceiling.high * ranks};
    }
  }
}

bool Agent::has_changed_enough() const {
  if (barred_lenders() != planned_barred_) return true;
  return std::any_of(registry_.jobs().begin(), registry_.jobs().end(),
                     [this](const auto& entry) {
                       const Job& job = entry.second;
                       return job.managed && !job.tasks.empty() &&
                              has_changed_enough(job);
                     });
}

bool Agent::has_changed_enough(const Job& job) const {
  const auto found = planned_.find(job.id);
  if (found == planned_.end()) return true;
  const PlanJob& planned = found->second;
  if (job.stopped != planned.stopped) return true;
  if (!job.stopped && std::abs(trainer_reserve_cores(job) -
                               planned.reserve_cores) > kChangedUse) {
    return true;
  }
  int units = 0;
  for (const auto& [pid, task] : job.tasks) units += int(task.units.size());
  if (may_grow(job, units) != planned.elastic) return true;
  if (!planned.elastic && units != planned.loader_units) return true;
  if (job.ranks() != planned.ranks) return true;
  // A job with unknown costs is planned by its use.
  const bool costs_known =
      job.corrected && job.corrected->loader_cpu_s_per_sample.known();
  if (!costs_known && (job.starved != planned.starved ||
                       std::abs(job.used_loader_cores -
                                planned.used_loader_cores) > kChangedUse)) {
    return true;
  }
  return job.corrected &&
         (!planned.prediction || differs(*job.corrected, *planned.prediction));
}

std::set<uint64_t> Agent::barred_lenders() const {
  const double now_s = double(monotonic_ns()) * kNs;
  std::set<uint64_t> barred;
  for (const auto& [id, job] : registry_.jobs()) {
    // A stopped job cannot suffer.
    if (!job.managed || job.tasks.empty() || job.stopped) continue;
    if (job.measured_limit || !job.lender_watch.may_lend(now_s)) {
      barred.insert(id);
    }
  }
  return barred;
}

// Detects loans that cost the lender more than CPU time (caches, memory
// bandwidth).
void Agent::watch_lenders(uint64_t now_ns) {
  const double now_s = double(now_ns) * kNs;
  bool suffered = false;
  for (auto& [id, job] : registry_.jobs()) {
    if (!job.managed || job.tasks.empty() || job.stopped) continue;
    if (job.measured_limit) continue;
    LenderWatch::Look look;
    look.now_s = now_s;
    look.lent = lenders_.contains(id);
    look.is_rate = job.reports();
    if (!look.is_rate) {
      look.figure = job.delay_probe.got_share(machine_.proc, job.tasks);
      look.is_idle = job.is_idle;
    } else if (!job.rates.empty() && job.rates.back().time_s == now_s) {
      look.figure = job.rates.back().rate;
    }
    LenderWatch& watch = job.lender_watch;
    const double unlent = watch.unlent_figure();
    const double lent = watch.lent_figure();
    const LenderWatch::Verdict verdict = watch.look(look);
    if (verdict != LenderWatch::Verdict::kSuffers) continue;
    log_info("job {}: {:.3g} {} with its CPUs lent, {:.3g} without: returned",
             id, lent, look.is_rate ? "samples/s" : "of the CPU time it wants",
             unlent);
    suffered = true;
  }
  // kMeasure bars the lender without a plan here; has_changed_enough() then
  // causes one.
  if (suffered) rebalance(GrantCause::kLenderSuffered);
}

}  // namespace penstock
