#include "select_ext/allocator/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "select_ext/allocator/cluster_answer.h"
#include "select_ext/allocator/cluster_job.h"
#include "select_ext/allocator/cluster_settle.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

// The bands are small against the bound of gap(). For a resource with many jobs
// the band is wider than the change of one job, because repricing evaluates all
// of them.
constexpr Precision kPrecision = {{2e-4, 4e-4}, {2e-3, 5e-2}, 1e-4};

Error no_such_job(uint64_t id) {
  return Error{Code::kNotFound, 0, fmt::format("job {}: is not known", id)};
}

Status check_node(size_t index, const ClusterNode& node) {
  if (!std::isfinite(node.cores) || node.cores < 0) {
    return invalid(
        fmt::format("nodes[{}]: cores is {}, must be finite and at least 0",
                    index, node.cores));
  }
  if (!std::isfinite(node.ingest_bytes_per_s) || node.ingest_bytes_per_s < 0) {
    return invalid(fmt::format(
        "nodes[{}]: ingest_bytes_per_s is {}, must be finite and at least 0",
        index, node.ingest_bytes_per_s));
  }
  return Done{};
}

}  // namespace

Result<ClusterSolver> ClusterSolver::create(std::vector<ClusterNode> nodes,
                                            std::vector<double> pools,
                                            Policy policy) {
  auto state = std::make_unique<ClusterState>();
  state->objective = objective_of(policy);
  if (state->objective == nullptr) {
    return invalid("the policy does not lend");
  }
  state->precision = kPrecision;
  state->nodes = static_cast<int>(nodes.size());
  state->resources.resize(2 * nodes.size() + pools.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (Status status = check_node(n, nodes[n]); !status) return status.error();
    state->resources[n].capacity = nodes[n].cores;
    state->resources[state->ingest_of(static_cast<int>(n))].capacity =
        nodes[n].ingest_bytes_per_s;
  }
  for (size_t f = 0; f < pools.size(); ++f) {
    if (!std::isfinite(pools[f]) || pools[f] <= 0) {
      return invalid(fmt::format("pools[{}] is {}, must be finite and over 0",
                                 f, pools[f]));
    }
    state->resources[state->pool(static_cast<int>(f))].capacity = pools[f];
  }
  return ClusterSolver(std::move(state));
}

ClusterSolver::ClusterSolver(std::unique_ptr<ClusterState> state)
    : state_(std::move(state)) {}
ClusterSolver::ClusterSolver(ClusterSolver&&) noexcept = default;
ClusterSolver& ClusterSolver::operator=(ClusterSolver&&) noexcept = default;
ClusterSolver::~ClusterSolver() = default;

Status ClusterSolver::add(const ClusterJob& job) {
  if (Status status = check_job(*state_, job); !status) return status;
  state_->join(make_job(*state_, job));
  return Done{};
}

Status ClusterSolver::remove(uint64_t id) {
  const auto found = state_->slot_of_id.find(id);
  if (found == state_->slot_of_id.end()) return no_such_job(id);
  state_->leave(found->second);
  return Done{};
}

void ClusterSolver::settle() { allocator::settle(*state_); }

std::vector<ClusterGrant> ClusterSolver::take_changes() {
  std::vector<ClusterGrant> changes;
  for (int slot : std::exchange(state_->changed, {})) {
    JobState& job = state_->jobs[slot];
    job.is_changed = false;
    if (!job.is_present() || job.level == job.taken_level) continue;
    job.taken_level = job.level;
    changes.push_back({job.id, job.level * job.ceiling});
  }
  return changes;
}

Result<double> ClusterSolver::rate(uint64_t id) const {
  const auto found = state_->slot_of_id.find(id);
  if (found == state_->slot_of_id.end()) return no_such_job(id);
  const JobState& job = state_->jobs[found->second];
  return job.level * job.ceiling;
}

Result<double> ClusterSolver::floor(uint64_t id) const {
  const auto found = state_->slot_of_id.find(id);
  if (found == state_->slot_of_id.end()) return no_such_job(id);
  const JobState& job = state_->jobs[found->second];
  return floor_of(*state_, job) * job.ceiling;
}

double ClusterSolver::objective() const {
  double sum = 0;
  double least = 1;
  for (const JobState& job : state_->jobs) {
    if (!job.is_present()) continue;
    least = std::min(least, job.level);
    if (!has_gap() || job.level <= 0) continue;
    sum += job.weight * state_->objective->gain(job.level, 1);
  }
  return has_gap() ? sum : least;
}

int ClusterSolver::full_nodes() const {
  int full = 0;
  for (int n = 0; n < state_->nodes; ++n)
    full += state_->resources[n].price > 0;
  return full;
}

int ClusterSolver::full_pools() const {
  int full = 0;
  for (size_t r = 2 * size_t(state_->nodes); r < state_->resources.size();
       ++r) {
    full += state_->resources[r].price > 0;
  }
  return full;
}

bool ClusterSolver::has_gap() const { return state_->objective->is_sum(); }

double ClusterSolver::gap() const {
  const bool is_linear = state_->objective->is_linear;
  double bound = 0;
  double weights = 0;
  for (const JobState& job : state_->jobs) {
    if (!job.is_present() || (!is_linear && job.level == 0)) continue;
    bound += surplus(job, free_level(*state_, job), *state_->objective);
    weights += job.weight;
  }
  for (const Resource& resource : state_->resources) {
    bound += resource.price * resource.capacity;
  }
  const double lost = bound - objective();
  const double unit = is_linear ? objective() : weights;
  return unit > 0 ? lost / unit : 0;
}

}  // namespace penstock::allocator
