// Converts the parts of a job to the allocator's job, and its rate to the
// bytes/s that each part reads.
#include <algorithm>
#include <limits>

#include "select_ext/ctld/cluster_plan.h"

namespace penstock {
namespace {

using allocator::ClusterJob;
using allocator::ClusterPart;

// The allocator's "ranks", which count for pools and weights, are our shares.
// The core factor is therefore multiplied by ranks / shares.
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

// The rate that the entitled cores allow on the job's slowest node.
double ClusterPlan::core_floor(const ClusterJob& job) const {
  const double cpu_s = job.cores_curve[0].cores / job.cores_curve[0].rate;
  double floor = job.ceiling;
  for (const ClusterPart& part : job.parts) {
    floor = std::min(
        floor, part.entitled_cores / (part.ranks * part.core_factor * cpu_s));
  }
  return floor;
}

// Joins all parts with known costs to one job with one rate.
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
    // A rank that waits for slower ranks measures their rate as its ceiling, so
    // the highest ceiling is the true one.
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
    // A ceiling of 0 would be invalid.
    job.ceiling = std::max(core_floor(job), 1e-6 * job.ceiling);
  }
  return job;
}

// Parts of unknown cost: one job in cores per node.
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
      // If no read is known, it is also unknown that the part reads nothing.
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
