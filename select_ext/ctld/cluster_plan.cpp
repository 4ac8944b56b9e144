// Keeps the state of nodes and jobs, and the solver in step with it.
// cluster_plan_jobs.cpp builds the solver's jobs.
#include "select_ext/ctld/cluster_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

using allocator::ClusterJob;
using allocator::ClusterSolver;

constexpr double kRounding = 1e-9;

// Marks the id of the solver job that holds a node's unusable cores (trainers,
// unmanaged jobs). Its floor is its ceiling. It stands in for a smaller node,
// because the solver's capacities are fixed.
constexpr uint64_t kRest = uint64_t(1) << 63;

uint64_t job_of_entry(uint64_t entry) { return entry & 0xffffffff; }

}  // namespace

ClusterPlan::ClusterPlan(const std::vector<PoolConfig>& pools, Policy policy)
    : policy_(policy) {
  for (const PoolConfig& pool : pools) {
    if (pool.shared) pools_.push_back(pool);
  }
  all_shares_.resize(pools_.size());
}

std::optional<int> ClusterPlan::find_node(const std::string& name) const {
  const auto found = index_of_node_.find(name);
  if (found == index_of_node_.end()) return std::nullopt;
  return found->second;
}

double ClusterPlan::entitled_cores(const PlannedNode& node) const {
  double sum = 0;
  for (const auto& [id, part] : node.parts) sum += part.entitled_cores;
  return sum;
}

Status ClusterPlan::check_cores(const std::string& name, double cpus,
                                double loader_cores,
                                double entitled_cores) const {
  const double most = cpus * (1 + kRounding);
  if (loader_cores > most) {
    return invalid(
        fmt::format("node {}: loader_cores is {}, the node has {} "
                    "CPUs",
                    name, loader_cores, cpus));
  }
  if (entitled_cores > most) {
    return invalid(
        fmt::format("node {}: entitled_cores of its jobs are {} together, the "
                    "node has {} CPUs",
                    name, entitled_cores, cpus));
  }
  return Done{};
}

Result<int> ClusterPlan::set_node(const std::string& name,
                                  const NodeHello& hello) {
  double entitled = 0;
  for (const JobPart& part : hello.parts) entitled += part.entitled_cores;
  Status fits = check_cores(name, hello.cpus, hello.loader_cores, entitled);
  if (!fits) return std::move(fits).error();
  const auto [found, is_new] = index_of_node_.emplace(name, int(nodes_.size()));
  const int index = found->second;
  if (is_new) nodes_.push_back({name});
  if (nodes_[size_t(index)].cpus != hello.cpus) is_stale_ = true;
  forget_parts(index);
  PlannedNode& node = nodes_[size_t(index)];
  node.cpus = hello.cpus;
  node.loader_cores = hello.loader_cores;
  node.is_silent = false;
  for (const JobPart& part : hello.parts) {
    detach(part.id);
    link(index, part);
  }
  attach_rest(index);
  for (const JobPart& part : hello.parts) attach(part.id);
  return index;
}

Status ClusterPlan::set_part(int index, double loader_cores,
                             const JobPart& part) {
  end_part(index, loader_cores, part.id);
  PlannedNode& node = nodes_[size_t(index)];
  Status fits = check_cores(node.name, node.cpus, loader_cores,
                            entitled_cores(node) + part.entitled_cores);
  if (!fits)
    return std::move(fits).error().wrap(fmt::format("job {}", part.id));
  detach_rest(index);
  detach(part.id);
  link(index, part);
  attach_rest(index);
  attach(part.id);
  return Done{};
}

void ClusterPlan::end_part(int index, double loader_cores, uint64_t job) {
  PlannedNode& node = nodes_[size_t(index)];
  const auto found = node.parts.find(job);
  detach_rest(index);
  if (found != node.parts.end()) {
    detach(job);
    if (const int pool = pool_of(found->second); pool >= 0) {
      all_shares_[size_t(pool)] -= found->second.shares;
    }
    node.parts.erase(found);
    const auto nodes = nodes_of_job_.find(job);
    nodes->second.erase(index);
    if (nodes->second.empty()) nodes_of_job_.erase(nodes);
  }
  node.loader_cores = std::min(loader_cores, node.cpus);
  attach_rest(index);
  attach(job);
}

Status ClusterPlan::set_loader_cores(int index, double loader_cores) {
  PlannedNode& node = nodes_[size_t(index)];
  if (loader_cores == node.loader_cores) return Done{};
  Status fits = check_cores(node.name, node.cpus, loader_cores, 0);
  if (!fits) return fits;
  detach_rest(index);
  node.loader_cores = loader_cores;
  attach_rest(index);
  return Done{};
}

void ClusterPlan::set_silent(int index, bool is_silent) {
  PlannedNode& node = nodes_[size_t(index)];
  if (node.is_silent == is_silent) return;
  node.is_silent = is_silent;
  for (const auto& [id, part] : node.parts) {
    detach(id);
    attach(id);
  }
}

void ClusterPlan::remove_node(int index) {
  forget_parts(index);
  PlannedNode& node = nodes_[size_t(index)];
  node.loader_cores = 0;
  node.is_silent = false;
  attach_rest(index);
}

void ClusterPlan::forget_parts(int index) {
  detach_rest(index);
  PlannedNode& node = nodes_[size_t(index)];
  std::vector<uint64_t> jobs;
  for (const auto& [id, part] : node.parts) {
    jobs.push_back(id);
    detach(id);
    if (const int pool = pool_of(part); pool >= 0) {
      all_shares_[size_t(pool)] -= part.shares;
    }
    const auto nodes = nodes_of_job_.find(id);
    nodes->second.erase(index);
    if (nodes->second.empty()) nodes_of_job_.erase(nodes);
  }
  node.parts.clear();
  for (uint64_t id : jobs) attach(id);
}

void ClusterPlan::link(int index, const JobPart& part) {
  nodes_[size_t(index)].parts[part.id] = part;
  nodes_of_job_[part.id].insert(index);
  if (const int pool = pool_of(part); pool >= 0) {
    all_shares_[size_t(pool)] += part.shares;
  }
}

void ClusterPlan::detach(uint64_t job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  for (uint64_t entry : found->second) (void)solver_->remove(entry);
  entries_.erase(found);
}

void ClusterPlan::attach(uint64_t job) {
  if (is_stale_ || !lends(policy_)) return;
  detach(job);
  if (const auto one = joined(job)) add(*one);
  for (const ClusterJob& part : in_cores(job)) add(part);
}

void ClusterPlan::detach_rest(int index) {
  if (rests_.erase(index) > 0) (void)solver_->remove(kRest | uint64_t(index));
}

void ClusterPlan::attach_rest(int index) {
  if (is_stale_ || !lends(policy_)) return;
  detach_rest(index);
  const PlannedNode& node = nodes_[size_t(index)];
  // Entitled cores always count, even while their sum exceeds the loader cores
  // that the node reports.
  const double usable = std::max(node.loader_cores, entitled_cores(node));
  const double rest = node.cpus - usable;
  if (rest <= kRounding * node.cpus) return;
  ClusterJob job;
  job.id = kRest | uint64_t(index);
  job.ceiling = 1;
  job.cores_curve = {{1, rest}};
  job.parts = {{index, 1, rest, 1}};
  if (Status added = solver_->add(job); !added) {
    refused_.push_back(std::move(added).error());
    return;
  }
  rests_.insert(index);
}

void ClusterPlan::add(const ClusterJob& job) {
  if (Status added = solver_->add(job); !added) {
    refused_.push_back(std::move(added).error());
    return;
  }
  entries_[job_of_entry(job.id)].push_back(job.id);
}

void ClusterPlan::rebuild() {
  entries_.clear();
  rests_.clear();
  std::vector<allocator::ClusterNode> nodes;
  for (const PlannedNode& node : nodes_) nodes.push_back({node.cpus, 0});
  std::vector<double> bandwidths;
  for (const PoolConfig& pool : pools_) {
    bandwidths.push_back(double(pool.bandwidth_bytes_per_s));
  }
  Result<ClusterSolver> solver =
      ClusterSolver::create(std::move(nodes), std::move(bandwidths), policy_);
  if (!solver) {
    refused_.push_back(std::move(solver).error());
    return;
  }
  solver_.emplace(*std::move(solver));
  is_stale_ = false;
  for (int index = 0; index < node_count(); ++index) attach_rest(index);
  for (const auto& [id, nodes_of_it] : nodes_of_job_) attach(id);
}

std::vector<Error> ClusterPlan::solve() {
  if (!lends(policy_)) return {};
  if (is_stale_) rebuild();
  if (!solver_) return std::exchange(refused_, {});
  solver_->settle();
  for (const allocator::ClusterGrant& grant : solver_->take_changes()) {
    if ((grant.id & kRest) == 0) changed_.insert(job_of_entry(grant.id));
  }
  return std::exchange(refused_, {});
}

std::set<uint64_t> ClusterPlan::take_changed_jobs() {
  return std::exchange(changed_, {});
}

const std::set<int>& ClusterPlan::nodes_of(uint64_t job) const {
  static const std::set<int> kNone;
  const auto found = nodes_of_job_.find(job);
  return found == nodes_of_job_.end() ? kNone : found->second;
}

std::optional<double> ClusterPlan::gap() const {
  if (!solver_ || !solver_->has_gap()) return std::nullopt;
  return solver_->gap();
}

}  // namespace penstock
