// Builds the node's messages to the controllers (a full report first, then
// changes), and applies the controllers' grants to a plan. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "node_agent/plan/cluster_grant.h"
#include "node_agent/plan/planner.h"
#include "wire/messages.h"

namespace penstock {

// What PlanInput does not hold about a job. All fields but the first two serve
// only the history.
struct JobLabel {
  std::string name;
  double started_unix_s = 0;
  std::string model;  // the profile named by the user; "": none
  uint32_t batch = 0;
  double trainer_reserve_cores = 0;  // of all ranks together
  double mean_rate = 0;  // samples/s per rank since the start; 0: unknown
  uint64_t grant_changes = 0;
  RunTotals run;
};

// Loader cores of the node: those of its managed jobs, plus idle CPUs.
double loader_cores(const PlanInput& input);

// Converts the jobs of a plan to the controllers' format.
//   pool_names  by index into PlanInput::pools; "": not shared
std::vector<JobPart> job_parts(const PlanInput& input,
                               const std::vector<std::string>& pool_names,
                               const std::map<uint64_t, JobLabel>& labels);

// Remembers the last report sent. Not thread-safe.
class ClusterReport {
 public:
  // Returns the messages to send now. Jobs whose figures changed by less than
  // kWorthSaying are left out.
  std::vector<AgentMessage> update(double cores, std::vector<JobPart> parts);

  // Updates the label of a job that is about to leave the parts, so that its
  // JobEnded message is up to date.
  void note(uint64_t id, const JobLabel& label);

  // Updates the history's fields of each job whose run time has grown since its
  // last report, by kGrown and at least kLeastGrowth_s. A run of one day takes
  // about thirty messages.
  std::vector<AgentMessage> say_grown(
      const std::map<uint64_t, JobLabel>& labels);

  double loader_cores() const { return loader_cores_; }
  std::vector<JobPart> parts() const;

  // Smaller relative changes are not reported.
  static constexpr double kWorthSaying = 0.02;
  static constexpr double kGrown = 1.25;
  static constexpr double kLeastGrowth_s = 60;

 private:
  double loader_cores_ = 0;
  std::map<uint64_t, JobPart> said_;
  std::map<uint64_t, JobPart> latest_;  // the current values, reported or not
};

// Applies the grant to the plan's input: the rates of jobs that span nodes, and
// this node's part of shared pools. Without a grant in force, jobs have no rate
// and the node's part is proportional to its shares. Pools that the last grant
// does not name keep their values.
//   shared  by index into PlanInput::pools; "": not shared
void apply_grant(const ClusterGrant& grant,
                 const std::vector<std::string>& shared, PlanInput& input);

}  // namespace penstock
