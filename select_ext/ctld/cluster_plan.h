// Builds the allocation problem from agents' reports: joins the parts of jobs
// that span nodes, and updates the allocator's problem as they change. Pure;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "select_ext/allocator/cluster.h"
#include "select_ext/ctld/pool_shares.h"
#include "wire/messages.h"

namespace penstock {

struct PlannedNode {
  std::string name;
  double cpus = 0;  // 0: unknown or removed
  double loader_cores = 0;
  bool is_silent = false;
  std::map<uint64_t, JobPart> parts;  // by job
};

// samples/s per rank.
struct PlannedRate {
  double floor = 0;
  double rate = 0;
};

class ClusterPlan {
 public:
  // Keeps only the pools that all nodes share. With Policy=even nothing is
  // lent, and solve() gives no rates.
  ClusterPlan(const std::vector<PoolConfig>& pools, Policy policy);

  // Nodes are numbered from 0 in the order in which they first appear.
  std::optional<int> find_node(const std::string& name) const;
  const PlannedNode& node(int index) const { return nodes_[size_t(index)]; }
  int node_count() const { return int(nodes_.size()); }

  // Replaces all state of the node and ends its silence. Returns the node's
  // number.
  // Errors: kInvalidArgument  names the node, the field and the value:
  //                           loader_cores over cpus, or entitled_cores of its
  //                           jobs over cpus. Then nothing has changed.
  [[nodiscard]] Result<int> set_node(const std::string& name,
                                     const NodeHello& hello);
  // Adds or replaces a job's ranks on the node.
  // Errors: as set_node; the part is then removed, other jobs stay.
  [[nodiscard]] Status set_part(int node, double loader_cores,
                                const JobPart& part);
  void end_part(int node, double loader_cores, uint64_t job);
  [[nodiscard]] Status set_loader_cores(int node, double loader_cores);
  // Jobs with ranks on a silent node stay at their floor.
  void set_silent(int node, bool is_silent);
  // Forgets the node's jobs; the node keeps its number.
  void remove_node(int node);

  // True if the next solve() starts from scratch, which takes longer: after
  // set_node() of a new node, or of one with another number of CPUs.
  bool is_stale() const { return is_stale_; }

  // Updates the rates. Returns the errors of jobs that the allocator refuses;
  // those have no rate, all others do.
  std::vector<Error> solve();

  // Jobs whose rate has changed since the last call.
  std::set<uint64_t> take_changed_jobs();

  // Nodes with ranks of the job.
  const std::set<int>& nodes_of(uint64_t job) const;
  size_t job_count() const { return nodes_of_job_.size(); }

  // nullopt: the job is not planned, because its cost per sample is unknown.
  std::optional<PlannedRate> rate(uint64_t job) const;

  // Shared pools, and the readers of one with the rates of the last solve().
  const std::vector<PoolConfig>& pools() const { return pools_; }
  double all_shares(int pool) const;
  std::vector<PoolReader> readers(int pool) const;
  int pool_of(const JobPart& part) const;  // -1: no shared pool

  // Upper bound on the objective's loss; nullopt under maxmin and even.
  std::optional<double> gap() const;

 private:
  [[nodiscard]] Status check_cores(const std::string& name, double cpus,
                                   double loader_cores,
                                   double entitled_cores) const;
  double entitled_cores(const PlannedNode& node) const;
  void detach(uint64_t job);
  void attach(uint64_t job);
  void detach_rest(int node);
  void attach_rest(int node);
  void forget_parts(int node);
  void link(int node, const JobPart& part);
  void rebuild();
  std::optional<allocator::ClusterJob> joined(uint64_t job) const;
  double core_floor(const allocator::ClusterJob& job) const;
  std::vector<allocator::ClusterJob> in_cores(uint64_t job) const;
  void add(const allocator::ClusterJob& job);

  std::vector<PoolConfig> pools_;
  Policy policy_;
  std::vector<PlannedNode> nodes_;
  std::map<std::string, int> index_of_node_;
  std::map<uint64_t, std::set<int>> nodes_of_job_;
  std::vector<double> all_shares_;  // by pool
  std::optional<allocator::ClusterSolver> solver_;
  std::map<uint64_t, std::vector<uint64_t>> entries_;  // solver ids, by job
  std::set<int> rests_;  // nodes whose unusable cores are a solver job
  std::set<uint64_t> changed_;
  std::vector<Error> refused_;
  bool is_stale_ = true;
};

}  // namespace penstock
