#include "node_agent/plan_input.h"

#include <algorithm>
#include <cmath>

#include "common/clock.h"

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
// Smaller relative changes of costs cause no new plan.
constexpr double kChanged = 0.05;
constexpr double kChangedUse = 0.1;  // cores
constexpr double kLoaderAppears_s = 10;

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

// CPUs that several jobs hold at once (gang scheduling, overlap). Guests, which
// give way, do not count.
std::set<int> shared_cpus(const std::map<JobId, Job>& jobs) {
  std::map<int, int> holders;
  for (const auto& [id, job] : jobs) {
    if (job.loan.gives_way) continue;
    const CpuSet held = job.cpus();
    for (int cpu : held.cpus()) ++holders[cpu];
  }
  std::set<int> shared;
  for (const auto& [cpu, count] : holders) {
    if (count > 1) shared.insert(cpu);
  }
  return shared;
}

CpuSet cpus_of_residents(const std::map<JobId, Job>& jobs) {
  CpuSet cpus;
  for (const auto& [id, job] : jobs) {
    if (!job.loan.gives_way) cpus = cpus | job.cpus();
  }
  return cpus;
}

// In whole cores, so that not every change of a guest's use changes the plan.
double used_loader_cores(const Job& job) {
  return job.loan.gives_way ? std::round(job.loader.used_cores)
                            : job.loader.used_cores;
}

// True if the loader can use more threads than it has. For the first
// kLoaderAppears_s, a profile counts as evidence of a loader. A job whose
// loader is never identified may lend, but never borrows.
bool may_grow(const Job& job, int units) {
  if (job.loan.gives_way || job.elastic()) return true;
  const double age_s = double(monotonic_ns() - job.started_ns) * kNs;
  return job.costs.prior && units == 0 && age_s < kLoaderAppears_s;
}

double reserve_cores(const Job& job) {
  return job.loan.gives_way ? 0 : trainer_reserve_cores(job);
}

PlanJob plan_job(const Node& node, const GpuWatch& gpus, const Job& job,
                 const std::set<int>& shared) {
  PlanJob entry;
  entry.id = job.id;
  entry.uid = job.uid;
  entry.account = node.origins.of(job.id).account;
  entry.own_cpus = job.cpus();
  entry.guest = job.loan.gives_way;
  entry.home_cpus =
      entry.own_cpus -
      (entry.guest ? cpus_of_residents(node.registry.jobs())
                   : CpuSet(std::vector<int>(shared.begin(), shared.end())));
  entry.near_cpus = gpus.cpus_near_gpus_of(job);
  entry.stopped = job.stopped;
  if (!job.stopped) entry.reserve_cores = reserve_cores(job);
  entry.prediction =
      job.costs.corrected ? job.costs.corrected : job.costs.prior;
  entry.ranks = job.ranks();
  entry.used_loader_cores = used_loader_cores(job);
  entry.starved = job.loader.starved;
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
  entry.share = job.sharing.share;
  // The kernel counts no reads of an observed job. Its own count has those from
  // the page cache, too: by that it would seem to be bound by storage.
  const bool knows_reads = !job.observed || job.reads.kernel_counts_bytes;
  entry.pool = knows_reads ? node.pool_of(job) : -1;
  entry.pool_pressed = job.reads.pool_pressed;
  entry.on_entitlement = node.is_off() || job.costs.contradicted ||
                         !job.costs.corrector.trusted() ||
                         job.measured_limit.has_value();
  return entry;
}

}  // namespace

BarredLenders barred_lenders(const Node& node) {
  const double now_s = double(monotonic_ns()) * kNs;
  BarredLenders barred;
  for (const auto& [id, job] : node.registry.jobs()) {
    // A stopped job cannot suffer.
    if (!job.managed || job.tasks.empty() || job.stopped) continue;
    if (job.measured_limit || !job.lending.watch.may_lend(now_s)) {
      barred.to_anybody.insert(id);
    }
    if (!job.lending.watch.may_lend_to_guests(now_s)) {
      barred.to_guests.insert(id);
    }
  }
  return barred;
}

PlanInput plan_input(const Node& node, const GpuWatch& gpus) {
  PlanInput input = imagined_input(node, gpus);
  for (PlanJob& entry : input.jobs) {
    if (!node.registry.jobs().at(JobId(entry.id)).observed) continue;
    entry.on_entitlement = true;
    input.barred.to_anybody.insert(entry.id);
  }
  return input;
}

PlanInput imagined_input(const Node& node, const GpuWatch& gpus) {
  PlanInput input;
  input.policy = node.config.policy;
  input.lend_across = node.config.lend_across;
  input.numa_node_of_cpu = node.machine.topology.numa_node_of_cpu;
  input.core_of_cpu = node.machine.topology.core_of_cpu;
  for (const PoolConfig& pool : node.config.pools) {
    input.pools.push_back(double(pool.bandwidth_bytes_per_s));
  }
  const std::set<int> shared = shared_cpus(node.registry.jobs());
  for (const auto& [id, job] : node.registry.jobs()) {
    if (!job.managed || job.tasks.empty()) continue;
    input.jobs.push_back(plan_job(node, gpus, job, shared));
  }
  input.barred = barred_lenders(node);
  input.idle_cpus = node.idle_cpus();
  return input;
}

bool has_changed_enough(const Job& job, const PlanJob& planned) {
  if (job.stopped != planned.stopped) return true;
  if (!job.stopped &&
      std::abs(reserve_cores(job) - planned.reserve_cores) > kChangedUse) {
    return true;
  }
  int units = 0;
  for (const auto& [pid, task] : job.tasks) units += int(task.units.size());
  if (may_grow(job, units) != planned.elastic) return true;
  if (!planned.elastic && units != planned.loader_units) return true;
  if (job.ranks() != planned.ranks) return true;
  // A job with unknown costs is planned by its use.
  const bool costs_known = job.costs.corrected &&
                           job.costs.corrected->loader_cpu_s_per_sample.known();
  if (!costs_known && (job.loader.starved != planned.starved ||
                       std::abs(used_loader_cores(job) -
                                planned.used_loader_cores) > kChangedUse)) {
    return true;
  }
  return job.costs.corrected &&
         (!planned.prediction ||
          differs(*job.costs.corrected, *planned.prediction));
}

}  // namespace penstock
