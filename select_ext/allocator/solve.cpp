#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "select_ext/allocator/cluster_job.h"
#include "select_ext/allocator/cluster_settle.h"
#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

// A tenth of the contract's 1e-9: the errors of several resources add up.
constexpr Precision kPrecision = {
    {1e-10, 2e-10}, {1e-10, 2e-10}, 1e-11, /*moves_all_centres=*/true};
// Floors often fill a resource exactly; rounding may make their sum exceed it.
constexpr double kFitTolerance = 1e-9;

Status check_fit(const std::string& name, double floors, double capacity) {
  if (floors <= capacity * (1 + kFitTolerance)) return Done{};
  return Error{Code::kInfeasible, 0,
               fmt::format("{}: the floors need {}, there is {}", name, floors,
                           capacity)};
}

Status check_floors(const Problem& problem) {
  double cores = 0;
  double bytes_per_s = 0;
  std::vector<double> pools(problem.pools.size());
  for (const Job& job : problem.jobs) {
    const double job_cores = cores_at(job.cores_curve, job.floor);
    if (job_cores > job.max_cores * (1 + kFitTolerance)) {
      return Error{
          Code::kInfeasible, 0,
          fmt::format("job {}: its floor needs {} cores, max_cores is {}",
                      job.id, job_cores, job.max_cores)};
    }
    cores += job_cores;
    bytes_per_s += job.bytes_per_rate * job.floor;
    if (job.pool >= 0) pools[job.pool] += job.bytes_per_rate * job.floor;
  }
  Status fits = check_fit("cores", cores, problem.cores);
  if (fits && problem.ingest_bytes_per_s > 0) {
    fits = check_fit("ingest_bytes_per_s", bytes_per_s,
                     problem.ingest_bytes_per_s);
  }
  for (size_t i = 0; i < pools.size() && fits; ++i) {
    fits = check_fit(fmt::format("pools[{}]", i), pools[i], problem.pools[i]);
  }
  return fits;
}

// A cluster of one node, where each job has one rank and its slot is its index.
ClusterState one_node(const Problem& problem, const Objective& objective) {
  ClusterState state;
  state.objective = &objective;
  state.precision = kPrecision;
  state.nodes = 1;
  state.resources.resize(2 + problem.pools.size());
  state.resources[0].capacity = problem.cores;
  state.resources[1].capacity = problem.ingest_bytes_per_s;
  for (size_t i = 0; i < problem.pools.size(); ++i) {
    state.resources[state.pool(int(i))].capacity = problem.pools[i];
  }
  for (const Job& job : problem.jobs) {
    JobState made = make_job(state, {.id = job.id,
                                     .weight = job.weight,
                                     .ceiling = job.ceiling,
                                     .cores_curve = job.cores_curve,
                                     .bytes_per_sample = job.bytes_per_rate,
                                     .pool = job.pool,
                                     .max_cores_per_rank = job.max_cores,
                                     .parts = {{.ranks = 1}}});
    made.core_floor = job.floor / job.ceiling;
    for (Link& link : made.links) link.ranks = 0;  // no floor from a share
    state.join(std::move(made));
  }
  for (JobState& job : state.jobs) job.centre = job.core_floor;
  return state;
}

double value_of(const Problem& problem, const Allocation& allocation,
                const Objective& objective) {
  double sum = 0;
  double least = problem.jobs.empty() ? 0 : 1;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const double rate = allocation.grants[j].rate;
    least = std::min(least, rate / job.ceiling);
    if (!objective.is_sum() || rate <= 0) continue;
    sum += job.weight * objective.gain(rate, job.ceiling);
  }
  return objective.is_sum() ? sum : least;
}

}  // namespace

double entitled_rate(const Job& job, double cores, double bytes_per_s) {
  double rate = std::min(
      job.ceiling, rate_at(job.cores_curve, std::min(cores, job.max_cores)));
  if (job.bytes_per_rate > 0) {
    rate = std::min(rate, bytes_per_s / job.bytes_per_rate);
  }
  return rate;
}

Result<Allocation> solve(const Problem& problem, Policy policy) {
  if (Status status = validate(problem); !status) return status.error();
  if (Status status = check_floors(problem); !status) return status.error();
  const Objective* objective = objective_of(policy);
  if (objective == nullptr) return invalid("the policy does not lend");
  ClusterState state = one_node(problem, *objective);
  settle(state);
  Allocation allocation;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    // A level rounds; its rate may need no core where none is allowed.
    const double most = entitled_rate(job, problem.cores, INFINITY);
    const double rate =
        std::max(job.floor, std::min(most, state.jobs[j].level * job.ceiling));
    allocation.grants.push_back({job.id, rate, cores_at(job.cores_curve, rate),
                                 job.bytes_per_rate * rate});
  }
  allocation.objective = value_of(problem, allocation, *objective);
  return allocation;
}

}  // namespace penstock::allocator
