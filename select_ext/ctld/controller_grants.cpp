// Solves, and grants to the nodes that a change concerns.
#include <algorithm>
#include <cmath>

#include "select_ext/ctld/controller.h"

namespace penstock {
namespace {

// Solving from scratch takes longer than an event, so wait for the nodes that
// appear one after the other at start.
constexpr double kRebuildInterval_s = 0.5;

bool differs(double a, double b, double share) {
  return std::abs(a - b) > share * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void Controller::solve(double now_s, double now_unix_s) {
  if (!is_active() || !is_dirty_) return;
  if (now_s - solved_s_ < settings_.min_solve_interval_s) return;
  if (plan_.is_stale()) {
    if (now_s - rebuilt_s_ < kRebuildInterval_s) return;
    rebuilt_s_ = now_s;
  }
  solved_s_ = now_s;
  is_dirty_ = false;
  for (const Error& error : plan_.solve()) complain(error);
  const PartsOfPools parts = pool_parts();
  mark_changed(parts);
  tell_waiting();
  mark_shrunk(parts);
  for (int node = 0; node < plan_.node_count(); ++node) {
    if (agents_[size_t(node)].needs_grant) {
      grant(node, parts, now_s, now_unix_s);
    }
  }
}

// By pool and node, in bytes/s.
Controller::PartsOfPools Controller::pool_parts() const {
  PartsOfPools parts;
  for (size_t pool = 0; pool < plan_.pools().size(); ++pool) {
    const double bandwidth = double(plan_.pools()[pool].bandwidth_bytes_per_s);
    const std::vector<PoolReader> readers = plan_.readers(int(pool));
    const std::vector<PoolPart> granted = share_pool(bandwidth, readers);
    std::vector<PoolPart> of_node(size_t(plan_.node_count()));
    for (size_t i = 0; i < readers.size(); ++i) {
      PoolPart& part = of_node[size_t(readers[i].node)];
      part.needed_bytes_per_s += granted[i].needed_bytes_per_s;
      part.granted_bytes_per_s += granted[i].granted_bytes_per_s;
    }
    parts.push_back(std::move(of_node));
  }
  return parts;
}

bool Controller::is_worth_sending(int node, uint64_t job) const {
  const auto now = plan_.rate(job);
  const Agent& agent = agents_[size_t(node)];
  const auto sent = agent.sent_rates.find(job);
  const bool was_sent = sent != agent.sent_rates.end();
  const bool spans = now && plan_.nodes_of(job).size() > 1;
  if (!was_sent || !spans) return was_sent != spans;
  return differs(now->rate, sent->second, kWorthSending);
}

void Controller::mark_changed(const PartsOfPools& parts) {
  for (uint64_t job : plan_.take_changed_jobs()) {
    for (int node : plan_.nodes_of(job)) {
      if (is_worth_sending(node, job)) let_wait(node);
    }
  }
  for (size_t pool = 0; pool < parts.size(); ++pool) {
    for (size_t node = 0; node < agents_.size(); ++node) {
      Agent& agent = agents_[node];
      const PoolPart& part = parts[pool][node];
      // An agent without a controller takes this part by itself.
      if (plan_.node(int(node)).is_silent && !agent.sent_pools.empty()) {
        agent.sent_pools[pool] = part.granted_bytes_per_s;
      }
      if (is_worth_sending(int(node), pool, part)) let_wait(int(node));
    }
  }
}

void Controller::let_wait(int node) {
  if (is_told(node)) waiting_.insert(node);
}

bool Controller::is_told(int node) const {
  return agents_[size_t(node)].session != 0 && !plan_.node(node).is_silent;
}

bool Controller::is_worth_sending(int node, size_t pool,
                                  const PoolPart& part) const {
  const Agent& agent = agents_[size_t(node)];
  const double sent = agent.sent_pools.empty() ? 0 : agent.sent_pools[pool];
  return part.needed_bytes_per_s > sent * (1 + kWorthSending) ||
         differs(part.granted_bytes_per_s, sent, kRoughly);
}

// Round-robin, so that no node waits forever.
void Controller::tell_waiting() {
  for (size_t told = 0; told < kToldAtOnce && !waiting_.empty();) {
    auto next = waiting_.upper_bound(told_last_);
    if (next == waiting_.end()) next = waiting_.begin();
    told_last_ = *next;
    Agent& agent = agents_[size_t(*next)];
    waiting_.erase(next);
    if (agent.needs_grant) continue;  // gets a grant anyway
    agent.needs_grant = true;
    ++told;
  }
  if (!waiting_.empty()) is_dirty_ = true;
}

// The parts in force must fit into each pool although only some nodes get new
// ones. Where they would not fit, the nodes whose part has shrunk the most get
// a grant: at once while the excess is over kOverTold, else in turn.
void Controller::mark_shrunk(const PartsOfPools& parts) {
  size_t told_anew = 0;
  bool again = true;
  while (again) {
    again = false;
    for (size_t pool = 0; pool < parts.size(); ++pool) {
      const double bandwidth =
          double(plan_.pools()[pool].bandwidth_bytes_per_s);
      double over = -bandwidth;
      std::vector<std::pair<double, size_t>> shrunk;
      for (size_t node = 0; node < agents_.size(); ++node) {
        const Agent& agent = agents_[node];
        const double part = parts[pool][node].granted_bytes_per_s;
        const bool keeps = !agent.needs_grant && !agent.sent_pools.empty();
        const double told = keeps ? agent.sent_pools[pool] : part;
        over += told;
        if (told > part) shrunk.emplace_back(told - part, node);
      }
      std::sort(shrunk.rbegin(), shrunk.rend());
      for (const auto& [excess, node] : shrunk) {
        if (over <= 0) break;
        if (over <= kOverTold * bandwidth && told_anew >= kToldAtOnce) {
          is_dirty_ = true;  // the other nodes follow in later solves
          break;
        }
        over -= excess;
        ++told_anew;
        agents_[node].needs_grant = again = true;
      }
    }
  }
}

void Controller::grant(int index, const PartsOfPools& parts, double now_s,
                       double now_unix_s) {
  Agent& agent = agents_[size_t(index)];
  const PlannedNode& node = plan_.node(index);
  agent.needs_grant = false;
  waiting_.erase(index);
  if (!is_told(index)) return;
  NodeGrant grant;
  grant.term = term();
  grant.version = ++agent.version;
  grant.decided_unix_s = now_unix_s;
  grant.seen_sequence = agent.sequence;
  agent.granted_s = now_s;
  agent.sent_rates.clear();
  for (const auto& [id, part] : node.parts) {
    if (part.in_cores) {
      const auto earlier = earlier_.find(id);
      if (earlier == earlier_.end()) continue;
      grant.jobs.push_back({id, 0, 0, earlier->second});
      continue;
    }
    const auto planned = plan_.rate(id);
    if (!planned) continue;
    const bool spans = plan_.nodes_of(id).size() > 1;
    // The rate may be under the floor by the allocator's tolerance.
    const double rate = std::max(planned->rate, planned->floor);
    grant.jobs.push_back({id, planned->floor, spans ? rate : 0, {}});
    if (spans) agent.sent_rates[id] = planned->rate;
  }
  agent.sent_pools.clear();
  for (size_t pool = 0; pool < parts.size(); ++pool) {
    double shares = 0;
    for (const auto& [id, part] : node.parts) {
      if (plan_.pool_of(part) == int(pool)) shares += part.shares;
    }
    const double bytes_per_s = parts[pool][size_t(index)].granted_bytes_per_s;
    const PoolConfig& config = plan_.pools()[pool];
    grant.pools.push_back({config.name, bytes_per_s, shares,
                           std::max(shares, plan_.all_shares(int(pool))),
                           double(config.bandwidth_bytes_per_s)});
    agent.sent_pools.push_back(bytes_per_s);
  }
  outgoing_.push_back({node.name, std::move(grant)});
}

}  // namespace penstock
