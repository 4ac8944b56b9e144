// The controller's state machine: takes what agents say and the time, gives
// back what to say to them. Pure: no sockets, files, clock or log; not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/config.h"
#include "select_ext/ctld/cluster_plan.h"
#include "select_ext/ctld/messages.h"
#include "select_ext/ctld/terms.h"

namespace penstock {

// An admitted message and what its envelope said.
struct AgentSaid {
  std::string node;
  uint64_t session = 0;
  uint64_t sequence = 0;
  uint64_t missed = 0;  // messages of the session that never came
  AgentMessage message;
};

struct ToAgent {
  std::string node;
  ControllerMessage message;
};

// What history and other listeners are told, in order.
struct ClusterEvent {
  enum class Kind { kPartChanged, kPartEnded, kNodeSilent, kNodeHeard };
  Kind kind = Kind::kPartChanged;
  std::string node;
  uint64_t job = 0;     // of the first two
  JobPart part;         // as it is now, or was last
  bool is_new = false;  // kPartChanged: it was not known there before
};

// For the log: a message, and the node that it is about.
struct Remark {
  std::string text;
  bool is_warning = false;
};

class Controller {
 public:
  struct Settings {
    unsigned place = 0;  // among the controllers of penstock.conf
    double timeout_s = 30;
    double min_solve_interval_s = 0.05;
    uint64_t own_term = 0;  // the last one held; 0: none
  };

  Controller(const Settings& settings, const std::vector<PoolConfig>& pools,
             Policy policy);

  // now_s: monotonic, the same clock in all calls.
  void on_message(const AgentSaid& said, double now_s);

  // To be called often (20 ms) and after messages: begins and ends terms,
  // notes silent nodes, solves where something has changed.
  //   now_unix_s  goes into grants
  void on_tick(double now_s, double now_unix_s);

  // Not active from now on: its term could not be written down.
  void step_down(double now_s);

  // For the agents of a job's nodes while its cost is not known there. Until
  // the job has ended.
  void set_earlier(uint64_t job, const EarlierFigures& earlier);

  // What Slurm says of a node's CPUs: an agent that says more is refused.
  void set_slurm_cpus(const std::string& node, double cpus);

  std::vector<ToAgent> take_outgoing();
  std::vector<ClusterEvent> take_events();
  std::vector<Remark> take_remarks();

  bool is_active() const { return terms_.is_active(); }
  uint64_t term() const { return terms_.term(); }
  const ClusterPlan& plan() const { return plan_; }
  // When the plan's node was last heard, by the clock of the calls.
  double heard_s(int node) const { return agents_[size_t(node)].heard_s; }

  // An agent that has been silent for so many time-outs is forgotten with its
  // jobs.
  static constexpr double kForgetAfterTimeouts = 20;
  // A rate, or a need of a pool, that moved by less is not sent for its own
  // sake.
  static constexpr double kWorthSending = 0.02;
  // Nor is a pool's part that holds what the node needs, up to this.
  static constexpr double kRoughly = 0.25;
  // Nodes that have said something are answered at once. Of those that the
  // answer concerns elsewhere so many are told with each solve, the others with
  // the next ones: an event that moves thousands of rates must not hold up the
  // answers to those that follow it.
  static constexpr size_t kToldAtOnce = 20;
  // What nodes were told may be over a pool's bandwidth by this much while they
  // are told. Where all read as much as they may, a start takes a little from
  // everyone.
  static constexpr double kOverTold = 0.01;

 private:
  struct Agent {
    uint64_t session = 0;
    uint64_t sequence = 0;
    double heard_s = 0;
    double asked_s = -1e9;  // when it was last asked to say hello
    bool needs_grant = false;
    uint64_t version = 0;  // of the last grant in our term
    double granted_s = -1e9;
    std::map<uint64_t, double> sent_rates;  // by job
    std::vector<double> sent_pools;         // bytes/s, by pool
  };

  // By pool, then by node.
  using PartsOfPools = std::vector<std::vector<PoolPart>>;

  void take(const AgentSaid& said, const NodeHello& hello, double now_s);
  void take(const AgentSaid& said, const JobChanged& changed, double now_s);
  void take(const AgentSaid& said, const JobEnded& ended, double now_s);
  void take(const AgentSaid& said, const Heartbeat& beat, double now_s);
  void take(const AgentSaid& said, const Refused& refused, double now_s);
  void hear_of_term(const std::string& node, uint64_t term, double silence_s,
                    double now_s);
  bool may_believe(const AgentSaid& said, double now_s);
  void ask_again(const std::string& node, Agent& agent, double now_s);
  void complain(const Error& error);
  void end_part(const std::string& node, const JobPart& part);
  void forget(int node);

  void mind_terms(double now_s);
  void mind_silence(double now_s);
  void solve(double now_s, double now_unix_s);
  PartsOfPools pool_parts() const;
  void mark_changed(const PartsOfPools& parts);
  bool is_worth_sending(int node, size_t pool, const PoolPart& part) const;
  void let_wait(int node);
  bool is_told(int node) const;  // it is there, and answers
  void tell_waiting();
  bool is_worth_sending(int node, uint64_t job) const;
  void mark_shrunk(const PartsOfPools& parts);
  void grant(int node, const PartsOfPools& parts, double now_s,
             double now_unix_s);

  Settings settings_;
  Terms terms_;
  ClusterPlan plan_;
  std::vector<Agent> agents_;  // by the plan's number of the node
  std::set<int> waiting_;      // nodes to be told when there is time
  int told_last_ = -1;         // of them
  std::map<std::string, double> slurm_cpus_;
  std::map<std::string, double> refused_cpus_;  // what was complained of
  std::map<uint64_t, EarlierFigures> earlier_;  // by job
  bool is_dirty_ = false;
  double solved_s_ = -1e9;
  double rebuilt_s_ = -1e9;
  double minded_s_ = -1e9;
  std::vector<ToAgent> outgoing_;
  std::vector<ClusterEvent> events_;
  std::vector<Remark> remarks_;
};

}  // namespace penstock
