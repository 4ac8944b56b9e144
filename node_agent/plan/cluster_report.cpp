#include "node_agent/plan/cluster_report.h"

#include <algorithm>
#include <cmath>

#include "common/wire_text.h"

namespace penstock {
namespace {

// Controllers refuse smaller ceilings and costs.
constexpr double kLeastCeiling = 1e-6;
constexpr double kLeastCost_s = 1e-9;
constexpr size_t kMaxNameBytes = 64;  // a controller refuses longer ones

bool differs(double a, double b) {
  return std::abs(a - b) >
         ClusterReport::kWorthSaying * std::max(std::abs(a), std::abs(b));
}

bool differs(const JobPart& a, const JobPart& b) {
  JobPart same = b;
  for (double JobPart::*figure :
       {&JobPart::ceiling, &JobPart::loader_cpu_s_per_sample,
        &JobPart::storage_bytes_per_sample, &JobPart::entitled_cores,
        &JobPart::max_cores}) {
    if (differs(a.*figure, b.*figure)) return true;
    same.*figure = a.*figure;
  }
  // The history takes these from the job's last report.
  same.trainer_reserve_cores = a.trainer_reserve_cores;
  same.mean_rate = a.mean_rate;
  same.grant_changes = a.grant_changes;
  same.run = a.run;
  return !(a == same);
}

// Users control these values. Out-of-range values must be cut, because the
// controller would refuse the message and hear nothing more from the node.
void put_label(const JobLabel& label, JobPart& part) {
  part.model = label.model.substr(0, kMaxNameBytes);
  part.batch = label.batch;
  part.trainer_reserve_cores =
      std::clamp(label.trainer_reserve_cores, 0.0, bounds::kMaxCores);
  part.mean_rate = std::clamp(label.mean_rate, 0.0, bounds::kMaxRate);
  part.grant_changes = label.grant_changes;
  part.run = within_bounds(label.run);
}

JobPart part_of(const PlanJob& job, const JobLabel& label,
                const std::vector<std::string>& pool_names) {
  const JobNeeds needs = needs_of(job);
  JobPart part;
  part.id = job.id;
  part.uid = job.uid;
  part.name = std::string(utf8_cut(label.name, kMaxNameBytes));
  part.started_unix_s = std::max(0.0, label.started_unix_s);
  part.ranks = std::max(1u, job.ranks);
  part.shares = std::max(1u, job.shares);
  part.weight = std::max(job.weight / part.shares, 1e-3);
  part.in_cores = needs.in_cores;
  const double ceiling =
      needs.in_cores ? needs.ceiling : needs.ceiling / part.ranks;
  part.ceiling = std::clamp(ceiling, kLeastCeiling, bounds::kMaxRate);
  part.loader_cpu_s_per_sample =
      std::clamp(needs.cores_per_rate, kLeastCost_s, bounds::kMaxCost_s);
  part.storage_bytes_per_sample =
      std::min(needs.bytes_per_rate, bounds::kMaxBytes);
  if (job.pool >= 0 && !job.guest) part.pool = pool_names[size_t(job.pool)];
  part.entitled_cores = needs.home_cores;
  part.max_cores = std::min(needs.max_cores, bounds::kMaxLoaderCores);
  part.max_bytes_per_s =
      std::min(double(job.max_bytes_per_s), bounds::kMaxBytes);
  part.on_entitlement = job.on_entitlement || job.guest;
  part.pool_pressed = job.pool_pressed;
  part.is_measured =
      job.prediction && job.prediction->basis.starts_with("measured");
  put_label(label, part);
  return part;
}

}  // namespace

double loader_cores(const PlanInput& input) {
  double cores = double(input.idle_cpus.size());
  for (const PlanJob& job : input.jobs) cores += needs_of(job).entitled_cores;
  return cores;
}

std::vector<JobPart> job_parts(const PlanInput& input,
                               const std::vector<std::string>& pool_names,
                               const std::map<uint64_t, JobLabel>& labels) {
  std::vector<JobPart> parts;
  for (const PlanJob& job : input.jobs) {
    const auto label = labels.find(job.id);
    parts.push_back(part_of(
        job, label == labels.end() ? JobLabel{} : label->second, pool_names));
  }
  return parts;
}

std::vector<AgentMessage> ClusterReport::update(double cores,
                                                std::vector<JobPart> parts) {
  std::vector<AgentMessage> messages;
  std::map<uint64_t, JobPart> now, latest;
  for (JobPart& part : parts) {
    latest[part.id] = part;
    const auto said = said_.find(part.id);
    if (said == said_.end() || differs(part, said->second)) {
      messages.emplace_back(JobChanged{cores, part});
      now[part.id] = std::move(part);
    } else {
      now[part.id] = said->second;
    }
  }
  for (const auto& [id, part] : said_) {
    if (!now.contains(id)) {
      messages.emplace_back(JobEnded{cores, id, latest_[id]});
    }
  }
  said_ = std::move(now);
  latest_ = std::move(latest);
  if (messages.empty() && differs(cores, loader_cores_)) {
    messages.emplace_back(Heartbeat{cores});
  }
  if (!messages.empty()) loader_cores_ = cores;
  return messages;
}

void ClusterReport::note(uint64_t id, const JobLabel& label) {
  const auto latest = latest_.find(id);
  if (latest != latest_.end()) put_label(label, latest->second);
}

std::vector<AgentMessage> ClusterReport::say_grown(
    const std::map<uint64_t, JobLabel>& labels) {
  std::vector<AgentMessage> messages;
  for (auto& [id, said] : said_) {
    const auto label = labels.find(id);
    if (label == labels.end()) continue;
    const double before_s = said.run.wall_s.value_or(0);
    const double now_s = label->second.run.wall_s.value_or(0);
    if (now_s < std::max(before_s * kGrown, before_s + kLeastGrowth_s)) {
      continue;
    }
    put_label(label->second, said);
    put_label(label->second, latest_[id]);
    messages.emplace_back(JobChanged{loader_cores_, said});
  }
  return messages;
}

std::vector<JobPart> ClusterReport::parts() const {
  std::vector<JobPart> parts;
  for (const auto& [id, part] : said_) parts.push_back(part);
  return parts;
}

namespace {

void apply_pool(const PoolGrant& told, bool in_force, size_t index,
                PlanInput& input) {
  double own = 0;
  for (const PlanJob& job : input.jobs) {
    if (job.pool == int(index) && !job.guest) own += std::max(1u, job.shares);
  }
  // The shares of other nodes are those of the last grant.
  const double all = std::max(own, told.all_shares - told.node_shares + own);
  if (own == 0 || all <= 0) return;
  const double per_share = told.bandwidth_bytes_per_s / all;
  input.pool_bytes_per_share.resize(input.pools.size(), 0.0);
  input.pool_bytes_per_share[index] = per_share;
  input.pools[index] = in_force ? told.bytes_per_s : per_share * own;
}

}  // namespace

void apply_grant(const ClusterGrant& grant,
                 const std::vector<std::string>& shared, PlanInput& input) {
  for (size_t i = 0; i < shared.size(); ++i) {
    if (shared[i].empty()) continue;
    const PoolGrant* told = grant.pool(shared[i]);
    if (told != nullptr) apply_pool(*told, grant.is_in_force(), i, input);
  }
  for (PlanJob& job : input.jobs) {
    const JobGrant* granted = grant.job(job.id);
    if (granted == nullptr || granted->rate <= 0) continue;
    const double ranks = std::max(1u, job.ranks);
    job.cluster_floor = granted->floor * ranks;
    job.cluster_rate = std::max(granted->rate, granted->floor) * ranks;
  }
}

}  // namespace penstock
