// A node of the simulated cluster: what penstockd does of controllers, with
// the real report, grant and planner, and the checks of each plan.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node_agent/plan/cluster_report.h"
#include "tests/model/trial.h"

namespace penstock::model {

inline constexpr double kTimeout_s = 10;
inline constexpr double kBandwidth = 5000;

class ClusterAgent {
 public:
  ClusterAgent(Trial& trial, std::string name, double now_s);

  const std::string& name() const { return name_; }
  const ClusterGrant& grant() const { return *grant_; }
  const PlanInput& input() const { return input_; }

  // A new run: with the term that the last one saved, or after a reset.
  void restart(double now_s, bool forgets_term);
  // A job starts, ends or changes.
  void change_jobs();
  // Returns replies.
  std::vector<AgentMessage> take(const ControllerMessage& message,
                                 double now_s);
  // Heartbeats and the end of a grant; call it often.
  std::vector<AgentMessage> on_timer(double now_s);
  std::vector<AgentMessage> report();
  NodeHello hello(double now_s) const;

  static constexpr int kCpus = 8;

 private:
  bool is_lost(double now_s) const;
  void take_grant(const NodeGrant& grant, double now_s,
                  std::vector<AgentMessage>& replies);
  PlanJob random_job(uint64_t id, const CpuSet& cpus);
  void plan();
  void check(const PlanInput& input, const Plan& plan) const;
  void check_consent(const PlanInput& input, const PlanJob& borrower, int cpu,
                     uint64_t lender) const;

  Trial& trial_;
  std::string name_;
  std::optional<ClusterGrant> grant_;
  ClusterReport report_;
  PlanInput input_;
  double beaten_s_ = -1e9;
  // Independent of ClusterGrant: what was applied last, and what is on disk.
  std::pair<uint64_t, uint64_t> applied_{0, 0};  // term, version
  uint64_t saved_term_ = 0;
};

}  // namespace penstock::model
