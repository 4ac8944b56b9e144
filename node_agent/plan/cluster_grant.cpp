#include "node_agent/plan/cluster_grant.h"

#include <algorithm>

namespace penstock {

ClusterGrant::Taken ClusterGrant::take(const NodeGrant& grant, double now_s) {
  const bool older_version = grant.term == term_ && grant.version <= version_;
  const bool is_lost = silence_s(now_s) >= kMostSilence * timeout_s_;
  if ((grant.term < term_ && !is_lost) || older_version) {
    return {false, false, Refused{grant.term, grant.version, term_}};
  }
  const bool is_new_term = grant.term != term_;
  term_ = grant.term;
  version_ = grant.version;
  heard_s_ = now_s;
  in_force_ = true;
  jobs_.clear();
  for (const JobGrant& job : grant.jobs) jobs_[job.id] = job;
  pools_.clear();
  for (const PoolGrant& pool : grant.pools) pools_[pool.name] = pool;
  return {true, is_new_term, std::nullopt};
}

std::optional<Refused> ClusterGrant::take(const Beat& beat, double now_s) {
  if (beat.term < term_) return Refused{beat.term, 0, term_};
  // A beat does not establish a newer term; its first grant does.
  if (beat.term == term_) heard_s_ = now_s;
  return std::nullopt;
}

bool ClusterGrant::expire(double now_s) {
  if (!in_force_ || silence_s(now_s) < timeout_s_) return false;
  in_force_ = false;
  jobs_.clear();
  return true;
}

const JobGrant* ClusterGrant::job(uint64_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const PoolGrant* ClusterGrant::pool(const std::string& name) const {
  const auto found = pools_.find(name);
  return found == pools_.end() ? nullptr : &found->second;
}

}  // namespace penstock
