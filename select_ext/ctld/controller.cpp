// Handles agents' messages, terms and silent nodes. controller_grants.cpp
// solves and grants.
#include "select_ext/ctld/controller.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr double kAskAgain_s = 1;
// Checks for silent nodes per time-out.
constexpr double kLooks = 10;

}  // namespace

Controller::Controller(const Settings& settings,
                       const std::vector<PoolConfig>& pools, Policy policy)
    : settings_(settings),
      terms_(settings.place, settings.timeout_s, settings.own_term),
      plan_(pools, policy) {}

void Controller::complain(const Error& error) {
  remarks_.push_back({error.message, true});
}

void Controller::on_message(const AgentSaid& said, double now_s) {
  if (const auto known = plan_.find_node(said.node)) {
    agents_[size_t(*known)].heard_s = now_s;
    if (plan_.node(*known).is_silent) {
      plan_.set_silent(*known, false);
      agents_[size_t(*known)].needs_grant = is_dirty_ = true;
      events_.push_back({ClusterEvent::Kind::kNodeHeard, said.node});
      remarks_.push_back({fmt::format("node {}: is heard again", said.node)});
    }
  }
  std::visit([&](const auto& message) { take(said, message, now_s); },
             said.message);
}

// Only nodes with an admitted hello are asked.
void Controller::hear_of_term(const std::string& node, uint64_t term,
                              double silence_s, double now_s) {
  if (!plan_.find_node(node)) return;
  terms_.heard(node, term, silence_s, now_s);
  if (term <= terms_.term() || !terms_.is_outdated(now_s)) return;
  remarks_.push_back(
      {fmt::format("term {} ends: most nodes hear the controller of a newer "
                   "term, node {} of term {}",
                   terms_.term(), node, term)});
  terms_.step_down(now_s);
}

void Controller::ask_again(const std::string& node, Agent& agent,
                           double now_s) {
  if (now_s - agent.asked_s < kAskAgain_s) return;
  agent.asked_s = now_s;
  outgoing_.push_back({node, Resync{}});
}

// A change applies only on top of the hello and of all changes since.
bool Controller::may_believe(const AgentSaid& said, double now_s) {
  const auto known = plan_.find_node(said.node);
  if (!known) {
    Agent stranger;
    ask_again(said.node, stranger, now_s);
    return false;
  }
  Agent& agent = agents_[size_t(*known)];
  // Remembered: the request for a hello may be held back, or lost.
  agent.has_gap = agent.has_gap || said.missed > 0;
  if (agent.session == said.session && !agent.has_gap) {
    agent.sequence = said.sequence;
    return true;
  }
  ask_again(said.node, agent, now_s);
  return false;
}

void Controller::take(const AgentSaid& said, const NodeHello& hello,
                      double now_s) {
  const auto limit = slurm_cpus_.find(said.node);
  if (limit != slurm_cpus_.end() && hello.cpus > limit->second) {
    // Log once: the agent repeats its hello.
    if (std::exchange(refused_cpus_[said.node], hello.cpus) != hello.cpus) {
      complain(invalid(
          fmt::format("node {}: cpus is {}, Slurm gives it {}: refused; check "
                      "ManagedCPUs= there, or the node's CPUs= in slurm.conf",
                      said.node, hello.cpus, limit->second)));
    }
    return;
  }
  refused_cpus_.erase(said.node);
  std::map<uint64_t, JobPart> before;
  if (const auto known = plan_.find_node(said.node)) {
    before = plan_.node(*known).parts;
  }
  Result<int> node = plan_.set_node(said.node, hello);
  if (!node) return complain(node.error());
  if (size_t(*node) >= agents_.size()) agents_.resize(size_t(*node) + 1);
  Agent& agent = agents_[size_t(*node)];
  agent.session = said.session;
  agent.sequence = said.sequence;
  agent.has_gap = false;
  agent.heard_s = now_s;
  agent.needs_grant = is_dirty_ = true;
  for (const JobPart& part : hello.parts) {
    const bool is_new = before.erase(part.id) == 0;
    events_.push_back(
        {ClusterEvent::Kind::kPartChanged, said.node, part.id, part, is_new});
  }
  for (const auto& [id, part] : before) end_part(said.node, part);
  hear_of_term(said.node, hello.term, hello.silence_s, now_s);
}

void Controller::take(const AgentSaid& said, const JobChanged& changed,
                      double now_s) {
  if (!may_believe(said, now_s)) return;
  const int node = *plan_.find_node(said.node);
  const bool is_new = !plan_.node(node).parts.contains(changed.part.id);
  agents_[size_t(node)].needs_grant = is_dirty_ = true;
  Status done = plan_.set_part(node, changed.loader_cores, changed.part);
  if (!done) {
    complain(done.error());
    if (!is_new) end_part(said.node, changed.part);
    return;
  }
  events_.push_back({ClusterEvent::Kind::kPartChanged, said.node,
                     changed.part.id, changed.part, is_new});
}

void Controller::take(const AgentSaid& said, const JobEnded& ended,
                      double now_s) {
  if (!may_believe(said, now_s)) return;
  const int node = *plan_.find_node(said.node);
  agents_[size_t(node)].needs_grant = is_dirty_ = true;
  const auto found = plan_.node(node).parts.find(ended.id);
  std::optional<JobPart> last;
  if (found != plan_.node(node).parts.end()) {
    last = ended.last.value_or(found->second);
  }
  plan_.end_part(node, ended.loader_cores, ended.id);
  if (last) end_part(said.node, *last);
}

// REQUIRES: the part is already removed from the plan.
void Controller::end_part(const std::string& node, const JobPart& part) {
  events_.push_back({ClusterEvent::Kind::kPartEnded, node, part.id, part});
  if (plan_.nodes_of(part.id).empty()) earlier_.erase(part.id);
}

void Controller::take(const AgentSaid& said, const Heartbeat& beat,
                      double now_s) {
  hear_of_term(said.node, beat.term, beat.silence_s, now_s);
  if (!may_believe(said, now_s)) return;
  const int node = *plan_.find_node(said.node);
  Agent& agent = agents_[size_t(node)];
  if (plan_.node(node).loader_cores != beat.loader_cores) {
    Status done = plan_.set_loader_cores(node, beat.loader_cores);
    if (!done) complain(done.error());
    is_dirty_ = true;
  }
  if (!is_active()) return;
  outgoing_.push_back({said.node, Beat{term()}});
  // A grant that is still in transit, or was lost with a connection.
  const bool is_behind = beat.term != term() || beat.version < agent.version;
  if (is_behind && now_s - agent.granted_s > settings_.timeout_s / kLooks) {
    agent.needs_grant = is_dirty_ = true;
  }
}

void Controller::take(const AgentSaid& said, const Refused& refused,
                      double now_s) {
  hear_of_term(said.node, refused.highest_term, 0, now_s);
  (void)may_believe(said, now_s);
}

// A report is whole: it counts even if a message before it was lost.
void Controller::take(const AgentSaid& said, const ReportPart& part,
                      double now_s) {
  (void)may_believe(said, now_s);
  ClusterEvent event{ClusterEvent::Kind::kReport, said.node, part.id};
  event.report = part;
  events_.push_back(std::move(event));
}

void Controller::forget(int node) {
  const std::map<uint64_t, JobPart> parts = plan_.node(node).parts;
  plan_.remove_node(node);
  terms_.forget(plan_.node(node).name);
  for (const auto& [id, part] : parts) end_part(plan_.node(node).name, part);
  // All grants to the node are void, but versions must go on rising.
  Agent& agent = agents_[size_t(node)];
  agent = Agent{.version = agent.version};
  waiting_.erase(node);
  is_dirty_ = true;
}

void Controller::set_earlier(uint64_t job, const EarlierFigures& earlier) {
  const std::set<int>& nodes = plan_.nodes_of(job);
  if (nodes.empty()) return;
  earlier_[job] = earlier;
  for (int node : nodes) {
    agents_[size_t(node)].needs_grant = is_dirty_ = true;
  }
}

void Controller::set_slurm_cpus(const std::string& node, double cpus) {
  slurm_cpus_[node] = cpus;
  const auto known = plan_.find_node(node);
  if (!known || plan_.node(*known).cpus <= cpus) return;
  complain(invalid(fmt::format(
      "node {}: cpus is {}, Slurm gives it {}: left out; check ManagedCPUs= "
      "there, or the node's CPUs= in slurm.conf",
      node, plan_.node(*known).cpus, cpus)));
  forget(*known);  // it may send a valid hello later
}

void Controller::on_tick(double now_s, double now_unix_s) {
  mind_silence(now_s);
  mind_terms(now_s);
  solve(now_s, now_unix_s);
}

void Controller::mind_terms(double now_s) {
  // An active controller only has to catch up with some node, which can wait.
  const double pause_s = is_active() ? settings_.timeout_s / kLooks : 0;
  if (now_s - minded_terms_s_ < pause_s) return;
  minded_terms_s_ = now_s;
  if (!terms_.should_begin(now_s)) return;
  const uint64_t term = terms_.begin(now_s);
  for (Agent& agent : agents_) {
    agent.version = 0;
    agent.sent_rates.clear();
    agent.sent_pools.clear();
    agent.needs_grant = true;
  }
  is_dirty_ = true;
  remarks_.push_back({fmt::format("active with term {}", term)});
}

void Controller::step_down(double now_s) { terms_.step_down(now_s); }

void Controller::mind_silence(double now_s) {
  if (now_s - minded_s_ < settings_.timeout_s / kLooks) return;
  minded_s_ = now_s;
  for (int index = 0; index < plan_.node_count(); ++index) {
    const PlannedNode& node = plan_.node(index);
    Agent& agent = agents_[size_t(index)];
    const double silence_s = now_s - agent.heard_s;
    if (agent.session == 0 || silence_s <= settings_.timeout_s) continue;
    if (!node.is_silent) {
      plan_.set_silent(index, true);
      is_dirty_ = true;
      events_.push_back({ClusterEvent::Kind::kNodeSilent, node.name});
      remarks_.push_back({fmt::format("node {}: silent for {:.0f} s; its jobs "
                                      "are kept at their floors",
                                      node.name, silence_s),
                          true});
    } else if (silence_s > kForgetAfterTimeouts * settings_.timeout_s) {
      forget(index);
    }
  }
}

std::vector<ToAgent> Controller::take_outgoing() {
  return std::exchange(outgoing_, {});
}

std::vector<ClusterEvent> Controller::take_events() {
  return std::exchange(events_, {});
}

std::vector<Remark> Controller::take_remarks() {
  return std::exchange(remarks_, {});
}

}  // namespace penstock
