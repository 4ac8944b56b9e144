// From the parts of a job to the allocator's job, and from its rate back to
// what each part reads.
#include <algorithm>
#include <limits>

#include "select_ext/ctld/cluster_plan.h"

namespace penstock {
namespace {

using allocator::ClusterJob;
using allocator::ClusterPart;

// The allocator counts "ranks" for pools and weights; those are our shares. A
// rank that counts less than one costs as much more per share.
ClusterPart part_of(int node, const JobPart& part, double least_cpu_s) {
  ClusterPart entry;
  entry.node = node;
  entry.ranks = part.shares;
  entry.entitled_cores = part.entitled_cores;
  entry.core_factor =
      part.loader_cpu_s_per_sample / least_cpu_s * (part.ranks / part.shares);
  return entry;
}

double bytes_per_rate(const JobPart& part) {
  return part.ranks * part.storage_bytes_per_sample;
}

}  // namespace

int ClusterPlan::pool_of(const JobPart& part) const {
  if (part.pool.empty()) return -1;
  for (size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].name == part.pool) return int(i);
  }
  return -1;
}

double ClusterPlan::all_shares(int pool) const {
  return all_shares_[size_t(pool)];
}

// The rate that its entitled cores allow on its slowest node.
double ClusterPlan::core_floor(const ClusterJob& job) const {
  const double cpu_s = job.cores_curve[0].cores / job.cores_curve[0].rate;
  double floor = job.ceiling;
  for (const ClusterPart& part : job.parts) {
    floor = std::min(
        floor, part.entitled_cores / (part.ranks * part.core_factor * cpu_s));
  }
  return floor;
}

// All parts of which the costs are known, at one rate.
std::optional<ClusterJob> ClusterPlan::joined(uint64_t id) const {
  ClusterJob job;
  job.id = id;
  job.weight = 0;
  double least_cpu_s = std::numeric_limits<double>::infinity();
  double bytes = 0;
  double shares = 0;
  bool held_back = false;
  std::vector<std::pair<int, const JobPart*>> parts;
  for (int index : nodes_of(id)) {
    const JobPart& part = node(index).parts.at(id);
    if (part.in_cores) continue;
    parts.emplace_back(index, &part);
    least_cpu_s = std::min(least_cpu_s, part.loader_cpu_s_per_sample);
    // A rank that waits for slower ones measures their rate as its ceiling.
    job.ceiling = std::max(job.ceiling, part.ceiling);
    job.weight += part.weight * part.shares;
    if (job.pool < 0) job.pool = pool_of(part);
    bytes += bytes_per_rate(part);
    shares += part.shares;
    held_back |= part.on_entitlement || node(index).is_silent;
  }
  if (parts.empty()) return std::nullopt;
  job.bytes_per_sample = job.pool < 0 ? 0 : bytes / shares;
  for (const auto& [index, part] : parts) {
    job.parts.push_back(part_of(index, *part, least_cpu_s));
    const ClusterPart& entry = job.parts.back();
    job.max_cores_per_rank =
        std::min(job.max_cores_per_rank,
                 part->max_cores / (entry.ranks * entry.core_factor));
    if (part->max_bytes_per_s > 0 && bytes_per_rate(*part) > 0) {
      job.ceiling =
          std::min(job.ceiling, part->max_bytes_per_s / bytes_per_rate(*part));
    }
  }
  job.cores_curve = {{job.ceiling, job.ceiling * least_cpu_s}};
  if (held_back) {
    // At 0 it would be no job at all.
    job.ceiling = std::max(core_floor(job), 1e-6 * job.ceiling);
  }
  return job;
}

// Parts of unknown costs: each node's own, in cores.
std::vector<ClusterJob> ClusterPlan::in_cores(uint64_t id) const {
  std::vector<ClusterJob> jobs;
  for (int index : nodes_of(id)) {
    const JobPart& part = node(index).parts.at(id);
    if (!part.in_cores) continue;
    ClusterJob job;
    job.id = id | (uint64_t(index) + 1) << 32;
    job.weight = part.weight * part.shares;
    job.ceiling = part.ceiling;
    if (part.on_entitlement || node(index).is_silent) {
      job.ceiling = std::clamp(part.entitled_cores, 1e-6, part.ceiling);
    }
    job.cores_curve = {{1, 1}};
    job.max_cores_per_rank = part.max_cores;
    job.parts = {{index, 1, part.entitled_cores, 1}};
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::optional<PlannedRate> ClusterPlan::rate(uint64_t job) const {
  const auto found = entries_.find(job);
  if (found == entries_.end() || found->second.front() != job) {
    return std::nullopt;
  }
  const Result<double> floor = solver_->floor(job);
  const Result<double> rate = solver_->rate(job);
  if (!floor || !rate) return std::nullopt;
  return PlannedRate{*floor, *rate};
}

std::vector<PoolReader> ClusterPlan::readers(int pool) const {
  std::vector<PoolReader> readers;
  for (int index = 0; index < node_count(); ++index) {
    for (const auto& [id, part] : node(index).parts) {
      if (pool_of(part) != pool) continue;
      PoolReader reader;
      reader.node = index;
      reader.shares = part.shares;
      const auto planned = part.in_cores ? std::nullopt : rate(id);
      // Nothing to read that is known: nor is it known that it reads nothing.
      reader.gets_entitlement = !planned || bytes_per_rate(part) == 0 ||
                                part.pool_pressed || node(index).is_silent;
      if (planned) {
        reader.floor_bytes_per_s = planned->floor * bytes_per_rate(part);
        reader.wanted_bytes_per_s = planned->rate * bytes_per_rate(part);
      }
      readers.push_back(reader);
    }
  }
  return readers;
}

}  // namespace penstock
