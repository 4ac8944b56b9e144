#include "node_agent/plan/planner.h"

#include <algorithm>
#include <cmath>

#include "node_agent/plan/even_shares.h"
#include "node_agent/plan/guest_loans.h"
#include "node_agent/plan/pool_parts.h"
#include "select_ext/allocator/problem.h"

namespace penstock {
namespace {

using allocator::Problem;

// The demand of a job planned in cores grows by one core at a time.
constexpr double kUnknownStepCores = 1.0;
// A job that uses this share of its cores could use more.
constexpr double kSaturated = 0.9;

// A job may exceed the rate of its slowest rank elsewhere by this factor,
// because measurements there fluctuate.
constexpr double kAhead = 1.05;

// Lower bound of a sample's cost: the curve must rise.
constexpr double kLeastCost_s = 1e-9;

// Demand of a job that can use no cores, because it is stopped or holds no CPU
// alone. A ceiling must not be 0.
constexpr double kLeastCores = 1e-6;

// A job's costs, in its own unit of rate.
struct Costs {
  double ceiling = 0;
  double cores_per_rate = 0;
  double bytes_per_rate = 0;
  bool in_cores = false;
};

double entitled_cores(const PlanJob& job) {
  const double cores = static_cast<double>(job.home_cpus.size());
  return std::max(0.0, cores - job.reserve_cores);
}

// The part of the entitlement for the loader: less if the user keeps loader and
// trainer apart.
double home_cores(const PlanJob& job) {
  const double cores = entitled_cores(job);
  return job.apart ? std::min<double>(cores, job.max_threads) : cores;
}

// The same, including CPUs that other jobs hold too. A guest gives way there.
double own_cores(const PlanJob& job) {
  if (job.guest) return home_cores(job);
  const double cores =
      std::max(0.0, double(job.own_cpus.size()) - job.reserve_cores);
  return job.apart ? std::min<double>(cores, job.max_threads) : cores;
}

double thread_bound(const PlanJob& job) {
  double bound = 1e9;
  if (job.max_threads > 0) bound = job.max_threads;
  if (!job.elastic) bound = std::min(bound, double(job.loader_units));
  // At home, the loader may use all its cores regardless of its thread count.
  return std::max(bound, home_cores(job));
}

Costs unknown_costs(const PlanJob& job) {
  const double home = home_cores(job);
  const bool saturated =
      job.loader_units > 0 &&
      (job.starved || job.used_loader_cores >= kSaturated * home);
  const double wish =
      saturated ? std::max(home, job.used_loader_cores) + kUnknownStepCores
                : job.used_loader_cores * 1.1 + 0.05;
  return {std::min(wish, thread_bound(job)), 1.0, 0.0, true};
}

Costs costs_of(const PlanJob& job) {
  if (job.guest) {
    return {std::max(guest_wish(job), kLeastCores), 1.0, 0.0, true};
  }
  if (job.stopped) return {kLeastCores, 1.0, 0.0, true};
  if (!job.prediction || job.prediction->ceiling_samples_per_s.value <= 0 ||
      !job.prediction->loader_cpu_s_per_sample.known()) {
    return unknown_costs(job);
  }
  const Prediction& p = *job.prediction;
  return {p.ceiling_samples_per_s.value * job.ranks,
          std::max(p.loader_cpu_s_per_sample.value, kLeastCost_s),
          p.storage_bytes_per_sample.value, false};
}

double floor_rate(const PlanJob& job, const Costs& costs,
                  double entitled_bytes_per_s) {
  double floor =
      std::min(costs.ceiling, home_cores(job) / costs.cores_per_rate);
  if (job.pool >= 0 && costs.bytes_per_rate > 0) {
    floor = std::min(floor, entitled_bytes_per_s / costs.bytes_per_rate);
  }
  if (job.max_bytes_per_s > 0 && costs.bytes_per_rate > 0) {
    floor = std::min(floor, double(job.max_bytes_per_s) / costs.bytes_per_rate);
  }
  // A rank faster than the slowest rank's floor would only wait.
  if (job.cluster_rate > 0) floor = std::min(floor, job.cluster_floor);
  return floor;
}

double ceiling_rate(const PlanJob& job, const Costs& costs, double floor) {
  const bool is_told = job.cluster_rate > 0 && !job.stopped;
  double ceiling = is_told ? kAhead * job.cluster_rate : costs.ceiling;
  if (job.max_bytes_per_s > 0 && costs.bytes_per_rate > 0) {
    ceiling =
        std::min(ceiling, double(job.max_bytes_per_s) / costs.bytes_per_rate);
  }
  if (job.on_entitlement) ceiling = floor;
  return std::max({ceiling, floor, kLeastCores / costs.cores_per_rate});
}

// The rate on which the job's other nodes rely, if this node can supply it.
double pinned_floor(const PlanJob& job, const Costs& costs,
                    const allocator::Job& entry) {
  if (job.cluster_rate <= 0 || job.on_entitlement || job.stopped) {
    return entry.floor;
  }
  const double most = std::min(entry.ceiling / kAhead,
                               thread_bound(job) / costs.cores_per_rate);
  return std::max(entry.floor, std::min(job.cluster_rate, most));
}

// Jobs that may lend to each other, by their places in PlanInput::jobs.
struct Group {
  std::vector<size_t> residents, guests;
};

Problem build_problem(const PlanInput& input, const std::vector<size_t>& group,
                      const CpuSet& idle, const std::vector<Costs>& costs,
                      const std::vector<double>& entitled,
                      const std::vector<double>& pools, bool pinned) {
  Problem problem;
  // Rounding may leave an exhausted pool slightly below zero.
  for (double left : pools) problem.pools.push_back(std::max(left, 1.0));
  problem.cores = static_cast<double>(idle.size());
  for (size_t j : group) {
    const PlanJob& job = input.jobs[j];
    problem.cores += entitled_cores(job);
    allocator::Job entry;
    entry.id = job.id;
    entry.weight = job.weight;
    entry.floor = floor_rate(job, costs[j], entitled[j]);
    entry.ceiling = ceiling_rate(job, costs[j], entry.floor);
    entry.cores_curve = {{1.0, costs[j].cores_per_rate}};
    entry.bytes_per_rate = job.pool >= 0 ? costs[j].bytes_per_rate : 0;
    entry.pool = job.pool;
    entry.max_cores = thread_bound(job);
    if (pinned) entry.floor = pinned_floor(job, costs[j], entry);
    // Rounding in the divisions above must not make the floors infeasible.
    entry.floor *= 1 - 1e-9;
    problem.jobs.push_back(std::move(entry));
  }
  return problem;
}

// Cores that barred lenders do not need. They are not lent, so they are taken
// out of the problem.
double barred_spare(const PlanInput& input, const std::vector<size_t>& group,
                    const std::vector<Costs>& costs) {
  double spare = 0;
  for (size_t j : group) {
    const PlanJob& job = input.jobs[j];
    if (!input.barred.to_anybody.contains(job.id)) continue;
    const double need = costs[j].ceiling * costs[j].cores_per_rate;
    spare += std::max(0.0, entitled_cores(job) - need);
  }
  return spare;
}

allocator::RoundingInput rounding_input(const PlanInput& input,
                                        const std::vector<size_t>& group,
                                        const CpuSet& idle,
                                        const allocator::Allocation& answer) {
  allocator::RoundingInput rounding;
  rounding.idle_cpus = idle;
  rounding.numa_node_of_cpu = input.numa_node_of_cpu;
  rounding.core_of_cpu = input.core_of_cpu;
  for (size_t i = 0; i < group.size(); ++i) {
    const PlanJob& job = input.jobs[group[i]];
    allocator::RoundingJob entry;
    entry.id = job.id;
    entry.home_cpus = job.home_cpus;
    entry.near_cpus = job.near_cpus;
    entry.reserve_cores = job.reserve_cores;
    entry.granted_cores = answer.grants[i].cores;
    if (input.barred.to_anybody.contains(job.id)) {
      entry.granted_cores = std::max(entry.granted_cores, entitled_cores(job));
    }
    entry.loader_threads =
        job.elastic ? (job.max_threads > 0 ? int(job.max_threads) : 4096)
                    : job.loader_units;
    rounding.jobs.push_back(std::move(entry));
  }
  return rounding;
}

uint32_t hint_threads(const PlanJob& job, const PlannedGrant& grant) {
  const double home = std::max(1.0, std::ceil(own_cores(job) - 0.05));
  const double threads = home + double(grant.away_cpus.size());
  const double bound = job.max_threads > 0 ? job.max_threads : 4096;
  return uint32_t(std::clamp(threads, 1.0, bound));
}

// Jobs with equal keys may lend to each other. A job with an unknown account
// gets its user's key, which allows no more than LendAcross=user.
std::pair<std::string, uint32_t> lending_key(LendAcross across,
                                             const PlanJob& job) {
  if (across == LendAcross::kAny) return {};
  if (across == LendAcross::kAccount && !job.account.empty()) {
    return {job.account, 0};
  }
  return {"", job.uid};
}

std::vector<Group> lending_groups(const PlanInput& input) {
  std::map<std::pair<std::string, uint32_t>, Group> groups;
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const PlanJob& job = input.jobs[j];
    Group& group = groups[lending_key(input.lend_across, job)];
    (job.guest ? group.guests : group.residents).push_back(j);
  }
  std::vector<Group> list;
  list.reserve(groups.size());
  for (auto& [key, members] : groups) list.push_back(std::move(members));
  return list;
}

std::vector<double> bytes_of_floors(const PlanInput& input,
                                    const std::vector<Costs>& costs,
                                    const std::vector<double>& entitled) {
  std::vector<double> bytes;
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    bytes.push_back(floor_rate(input.jobs[j], costs[j], entitled[j]) *
                    costs[j].bytes_per_rate);
  }
  return bytes;
}

void take(std::vector<double>& pools, int pool, double bytes_per_s) {
  if (pool >= 0) pools[size_t(pool)] -= bytes_per_s;
}

// Skips jobs planned in cores: their rates cannot be compared.
void even_out_shares(const PlanInput& input, const std::vector<size_t>& group,
                     const std::vector<Costs>& costs, const Problem& problem,
                     allocator::Allocation& answer) {
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Sharer>> shares;
  for (size_t i = 0; i < group.size(); ++i) {
    const PlanJob& job = input.jobs[group[i]];
    if (job.share == 0 || costs[group[i]].in_cores) continue;
    shares[{job.uid, job.share}].push_back({i, double(job.ranks)});
  }
  for (const auto& [share, sharers] : shares) {
    even_out(problem, sharers, answer);
  }
}

struct GroupResult {
  allocator::Allocation answer;
  allocator::RoundingInput rounding;  // of the residents
};

Result<GroupResult> solve_group(const PlanInput& input,
                                const std::vector<size_t>& group,
                                const CpuSet& idle,
                                const std::vector<Costs>& costs,
                                const std::vector<double>& entitled,
                                const std::vector<double>& pools) {
  Result<allocator::Allocation> answer = Error{};
  // First with the cluster's rates as floors. If that is infeasible, because
  // the node has changed since, without them.
  for (const bool pinned : {true, false}) {
    Problem problem =
        build_problem(input, group, idle, costs, entitled, pools, pinned);
    problem.cores -= barred_spare(input, group, costs);
    answer = solve(problem, input.policy);
    if (answer) even_out_shares(input, group, costs, problem, *answer);
    if (answer || answer.error().code != Code::kInfeasible) break;
  }
  if (!answer) return std::move(answer).error();
  allocator::RoundingInput rounding =
      rounding_input(input, group, idle, *answer);
  return GroupResult{*std::move(answer), std::move(rounding)};
}

void record_loans(const PlanInput& input, const std::vector<size_t>& jobs,
                  const allocator::Rounded& rounded, Plan& plan) {
  for (const allocator::Loan& loan : rounded.loans) {
    plan.lender_of_cpu[loan.cpu] = loan.lender;
    for (size_t j : jobs) {
      if (input.jobs[j].id != loan.borrower) continue;
      plan.grants[j].away_cores += loan.cores;
      plan.grants[j].away_cpus = plan.grants[j].away_cpus | CpuSet({loan.cpu});
    }
  }
}

void record(const PlanInput& input, const std::vector<size_t>& residents,
            const GroupResult& result, Plan& plan) {
  for (size_t i = 0; i < residents.size(); ++i) {
    const PlanJob& job = input.jobs[residents[i]];
    PlannedGrant& grant = plan.grants[residents[i]];
    grant.rate = result.answer.grants[i].rate;
    grant.bytes_per_s = result.answer.grants[i].bytes_per_s;
    grant.home_cores = own_cores(job);  // lending takes none of them
  }
  const allocator::Rounded rounded = round_to_cpus(result.rounding);
  record_loans(input, residents, rounded, plan);
  plan.loss_cores += rounded.loss_cores;
}

// residents: the rounding of their group's loans
void lend_to_guests(const PlanInput& input, const std::vector<size_t>& guests,
                    const allocator::RoundingInput& residents, Plan& plan) {
  if (guests.empty()) return;
  std::vector<int> lent;
  for (const auto& [cpu, lender] : plan.lender_of_cpu) lent.push_back(cpu);
  record_loans(input, guests,
               round_to_cpus(rounding_for_guests(
                   input, guests, CpuSet(std::move(lent)), residents)),
               plan);
  for (size_t j : guests) {
    PlannedGrant& grant = plan.grants[j];
    grant.home_cores = own_cores(input.jobs[j]);
    grant.rate = grant.home_cores + grant.away_cores;
  }
}

void finish(const PlanInput& input, const std::vector<Costs>& costs,
            const std::vector<double>& entitled, Plan& plan) {
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    PlannedGrant& grant = plan.grants[j];
    grant.id = input.jobs[j].id;
    grant.in_cores = costs[j].in_cores;
    grant.floor = floor_rate(input.jobs[j], costs[j], entitled[j]);
    // A job that reads at its limit gets at least its entitlement, because its
    // measured need may only reflect the limit.
    if (input.jobs[j].pool_pressed && lends(input.policy)) {
      grant.bytes_per_s = std::max(grant.bytes_per_s, entitled[j]);
    }
  }
  share_bandwidth(input, entitled, plan);
  apply_user_bandwidth(input, plan);
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    plan.grants[j].loader_threads = hint_threads(input.jobs[j], plan.grants[j]);
  }
}

std::vector<Costs> all_costs(const PlanInput& input) {
  std::vector<Costs> costs;
  for (const PlanJob& job : input.jobs) costs.push_back(costs_of(job));
  return costs;
}

}  // namespace

std::optional<double> PlannedGrant::samples_per_s(
    double PlannedGrant::*figure) const {
  if (in_cores || !(this->*figure > 0)) return std::nullopt;
  return this->*figure;
}

JobNeeds needs_of(const PlanJob& job) {
  const Costs costs = costs_of(job);
  return {costs.in_cores,       costs.ceiling,       costs.cores_per_rate,
          costs.bytes_per_rate, entitled_cores(job), home_cores(job),
          thread_bound(job)};
}

Result<Plan> make_plan(const PlanInput& input) {
  if (!lends(input.policy)) return entitlement_plan(input);
  const std::vector<Costs> costs = all_costs(input);
  const std::vector<double> entitled = pool_entitlements(input);
  const std::vector<double> floor_bytes =
      bytes_of_floors(input, costs, entitled);
  std::vector<double> pools = pools_that_hold(input, entitled, floor_bytes);
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const PlanJob& job = input.jobs[j];
    // finish() gives a pressed job its entitlement, whatever the solution.
    take(pools, job.pool, job.pool_pressed ? entitled[j] : floor_bytes[j]);
  }
  CpuSet idle = input.idle_cpus;
  Plan plan;
  plan.grants.resize(input.jobs.size());
  const std::vector<Group> groups = lending_groups(input);
  std::vector<allocator::RoundingInput> rounded;
  for (const Group& group : groups) {
    // Releases this group's own floors; those of later groups stay reserved.
    for (size_t j : group.residents)
      take(pools, input.jobs[j].pool, -floor_bytes[j]);
    Result<GroupResult> result =
        solve_group(input, group.residents, idle, costs, entitled, pools);
    if (!result) return std::move(result).error();
    record(input, group.residents, *result, plan);
    rounded.push_back(std::move(result->rounding));
    for (const auto& [cpu, lender] : plan.lender_of_cpu) {
      if (lender == 0) idle = idle - CpuSet({cpu});
    }
    for (size_t j : group.residents) {
      take(pools, input.jobs[j].pool, plan.grants[j].bytes_per_s);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    lend_to_guests(input, groups[i].guests, rounded[i], plan);
  }
  finish(input, costs, entitled, plan);
  return plan;
}

Plan entitlement_plan(const PlanInput& input) {
  const std::vector<Costs> costs = all_costs(input);
  const std::vector<double> entitled = pool_entitlements(input);
  Plan plan;
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    PlannedGrant grant;
    grant.rate = floor_rate(input.jobs[j], costs[j], entitled[j]);
    grant.home_cores = own_cores(input.jobs[j]);
    grant.bytes_per_s = entitled[j];
    plan.grants.push_back(std::move(grant));
  }
  finish(input, costs, entitled, plan);
  return plan;
}

Plan slurms_plan(const PlanInput& input) {
  Plan plan = entitlement_plan(input);
  for (PlannedGrant& grant : plan.grants) grant.bytes_per_s = 0;
  return plan;
}

}  // namespace penstock
