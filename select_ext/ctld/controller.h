// The controller's state machine: takes agents' messages and the time, returns
// messages to agents. Pure: no sockets, files, clock or log; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/config.h"
#include "select_ext/ctld/cluster_plan.h"
#include "select_ext/ctld/terms.h"
#include "wire/messages.h"

namespace penstock {

// An admitted message with fields of its envelope.
struct AgentSaid {
  std::string node;
  uint64_t session = 0;
  uint64_t sequence = 0;
  uint64_t missed = 0;  // messages of the session lost just before this one
  AgentMessage message;
};

struct ToAgent {
  std::string node;
  ControllerMessage message;
};

// An event for listeners such as the history; events come in order.
struct ClusterEvent {
  enum class Kind {
    kPartChanged,
    kPartEnded,
    kReport,
    kNodeSilent,
    kNodeHeard
  };
  Kind kind = Kind::kPartChanged;
  std::string node;
  uint64_t job = 0;        // of kPartChanged, kPartEnded and kReport
  JobPart part;            // the current state, or the last one
  bool is_new = false;     // kPartChanged: the node had no part of the job
  ReportPart report = {};  // of kReport
};

// A line for the log; the text names the node.
struct Remark {
  std::string text;
  bool is_warning = false;
};

class Controller {
 public:
  struct Settings {
    unsigned place = 0;  // index in penstock.conf's list of controllers
    double timeout_s = 30;
    double min_solve_interval_s = 0.05;
    uint64_t own_term = 0;  // the last term held; 0: none
  };

  Controller(const Settings& settings, const std::vector<PoolConfig>& pools,
             Policy policy);

  // now_s: monotonic; all calls use the same clock.
  void on_message(const AgentSaid& said, double now_s);

  // Begins and ends terms, notes silent nodes, and solves after changes. Call
  // it often (every 20 ms) and after messages.
  //   now_unix_s  put into grants
  void on_tick(double now_s, double now_unix_s);

  // Ends the term, because it could not be saved to disk.
  void step_down(double now_s);

  // Sends figures of earlier runs to the agents of the job's nodes while its
  // cost is unknown there. Valid until the job ends.
  void set_earlier(uint64_t job, const EarlierFigures& earlier);

  // The number of CPUs that Slurm gives the node. A hello with more is refused.
  void set_slurm_cpus(const std::string& node, double cpus);

  std::vector<ToAgent> take_outgoing();
  std::vector<ClusterEvent> take_events();
  std::vector<Remark> take_remarks();

  bool is_active() const { return terms_.is_active(); }
  uint64_t term() const { return terms_.term(); }
  const ClusterPlan& plan() const { return plan_; }
  // When the node was last heard, in the clock of the calls.
  double heard_s(int node) const { return agents_[size_t(node)].heard_s; }

  // An agent that is silent for this many time-outs is forgotten with its jobs.
  static constexpr double kForgetAfterTimeouts = 20;
  // A smaller relative change of a rate, or of a need of a pool, triggers no
  // grant.
  static constexpr double kWorthSending = 0.02;
  // Nor does a smaller relative change of a pool part that still covers the
  // node's need.
  static constexpr double kRoughly = 0.25;
  // Nodes that sent a message get a grant at once. Of the other nodes that a
  // change concerns, this many get theirs per solve and the rest later. An
  // event that moves thousands of rates must not delay later answers.
  static constexpr size_t kToldAtOnce = 20;
  // Relative excess of the parts in force over a pool's bandwidth that is
  // tolerated while new grants go out. Where every node has its full part, each
  // start takes a little from all of them.
  static constexpr double kOverTold = 0.01;

 private:
  struct Agent {
    uint64_t session = 0;
    uint64_t sequence = 0;
    bool has_gap = false;  // a message was lost since its hello
    double heard_s = 0;
    double asked_s = -1e9;  // time of the last resync to it
    bool needs_grant = false;
    uint64_t version = 0;  // of the last grant in this term
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
  void take(const AgentSaid& said, const ReportPart& part, double now_s);
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
  bool is_told(int node) const;  // its agent is present and answers
  void tell_waiting();
  bool is_worth_sending(int node, uint64_t job) const;
  void mark_shrunk(const PartsOfPools& parts);
  void grant(int node, const PartsOfPools& parts, double now_s,
             double now_unix_s);

  Settings settings_;
  Terms terms_;
  ClusterPlan plan_;
  std::vector<Agent> agents_;  // by the plan's number of the node
  std::set<int> waiting_;      // nodes that wait for a new grant
  int told_last_ = -1;         // the last node taken from waiting_
  std::map<std::string, double> slurm_cpus_;
  std::map<std::string, double> refused_cpus_;  // CPUs already complained about
  std::map<uint64_t, EarlierFigures> earlier_;  // by job
  bool is_dirty_ = false;
  double solved_s_ = -1e9;
  double rebuilt_s_ = -1e9;
  double minded_s_ = -1e9;
  double minded_terms_s_ = -1e9;
  std::vector<ToAgent> outgoing_;
  std::vector<ClusterEvent> events_;
  std::vector<Remark> remarks_;
};

}  // namespace penstock
