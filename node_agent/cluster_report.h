// What this node says to the controllers: all of it at first, then what has
// changed; and what their grants mean for a plan. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "node_agent/cluster_grant.h"
#include "node_agent/planner.h"
#include "select_ext/ctld/messages.h"

namespace penstock {

// What the plan's input does not say of a job. All but the first two are for
// the history.
struct JobLabel {
  std::string name;
  double started_unix_s = 0;
  std::string model;  // the profile that the user named; "": none
  uint32_t batch = 0;
  double trainer_reserve_cores = 0;  // of all ranks
  double mean_rate = 0;  // samples/s per rank since the start; 0: not known
  uint64_t grant_changes = 0;
  RunTotals run;
};

// Loader cores of the node: of its managed jobs, and idle ones.
double loader_cores(const PlanInput& input);

// The jobs of a plan as controllers are told of them.
//   pool_names  of PlanInput::pools
std::vector<JobPart> job_parts(const PlanInput& input,
                               const std::vector<std::string>& pool_names,
                               const std::map<uint64_t, JobLabel>& labels);

// Remembers what was said last. Not thread-safe.
class ClusterReport {
 public:
  // What has to be said now; of jobs whose figures moved by a little nothing.
  std::vector<AgentMessage> update(double cores, std::vector<JobPart> parts);

  // What is known of a job that is about to be left out of the parts, for the
  // last word on it.
  void note(uint64_t id, const JobLabel& label);

  // Of the jobs whose runs have grown by a quarter since they were last spoken
  // of, what is for the history alone: a day's run takes some thirty messages.
  std::vector<AgentMessage> say_grown(
      const std::map<uint64_t, JobLabel>& labels);

  double loader_cores() const { return loader_cores_; }
  std::vector<JobPart> parts() const;

  // Figures that moved by less are not said again.
  static constexpr double kWorthSaying = 0.02;
  static constexpr double kGrown = 1.25;
  static constexpr double kLeastGrowth_s = 60;

 private:
  double loader_cores_ = 0;
  std::map<uint64_t, JobPart> said_;
  std::map<uint64_t, JobPart> latest_;  // as they are, whether said or not
};

// Puts what is granted into the plan's input: rates of jobs that span nodes,
// and this node's part of shared pools. Without a grant in force jobs are free
// and the node has its part by ranks; pools of which nothing was ever told stay
// as they are.
//   shared  names of PlanInput::pools; "" where a pool is not shared
void apply_grant(const ClusterGrant& grant,
                 const std::vector<std::string>& shared, PlanInput& input);

}  // namespace penstock
