// The allocation problem as agents report it: joins the parts of jobs that
// span nodes, and keeps the allocator's problem up as they change. Pure; not
// thread-safe.
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
#include "select_ext/ctld/messages.h"
#include "select_ext/ctld/pool_shares.h"

namespace penstock {

struct PlannedNode {
  std::string name;
  double cpus = 0;  // 0: not there (any more)
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
  // Pools that are not shared by all nodes are left out. With Policy=even
  // nothing is lent: solve() gives no rates.
  ClusterPlan(const std::vector<PoolConfig>& pools, Policy policy);

  // Nodes are numbered from 0 in the order in which they first appear.
  std::optional<int> find_node(const std::string& name) const;
  const PlannedNode& node(int index) const { return nodes_[size_t(index)]; }
  int node_count() const { return int(nodes_.size()); }

  // Replaces all that was known of the node; it is no longer silent. Its
  // number.
  // Errors: kInvalidArgument  names the node, the field and what is wrong:
  //                           loader_cores over cpus, entitled_cores of its
  //                           jobs over cpus. Then nothing has changed.
  [[nodiscard]] Result<int> set_node(const std::string& name,
                                     const NodeHello& hello);
  // A job's ranks on the node, new or changed.
  // Errors: as set_node; the node's other jobs stay, this part is removed.
  [[nodiscard]] Status set_part(int node, double loader_cores,
                                const JobPart& part);
  void end_part(int node, double loader_cores, uint64_t job);
  [[nodiscard]] Status set_loader_cores(int node, double loader_cores);
  // Jobs with ranks on a silent node stay at their floor.
  void set_silent(int node, bool is_silent);
  // Its jobs are forgotten; the node keeps its number.
  void remove_node(int node);

  // True where the next solve() begins from nothing, which takes longer:
  // after set_node() of a node that is new or has other cpus.
  bool is_stale() const { return is_stale_; }

  // Brings rates to the present state. Errors are of jobs that the allocator
  // refuses: they have no rate, the others do.
  std::vector<Error> solve();

  // Jobs whose rate has changed since the last call.
  std::set<uint64_t> take_changed_jobs();

  // Nodes with ranks of the job.
  const std::set<int>& nodes_of(uint64_t job) const;
  size_t job_count() const { return nodes_of_job_.size(); }

  // nullopt: the job is not planned, for nothing tells what its samples cost.
  std::optional<PlannedRate> rate(uint64_t job) const;

  // Shared pools; the readers of one as the last solve() left them.
  const std::vector<PoolConfig>& pools() const { return pools_; }
  double all_shares(int pool) const;
  std::vector<PoolReader> readers(int pool) const;
  int pool_of(const JobPart& part) const;  // -1: none of ours

  // Bound on what the objective lost; nullopt under maxmin and even.
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
  std::map<uint64_t, std::vector<uint64_t>> entries_;  // in the solver, by job
  std::set<int> rests_;  // nodes whose rest is in the solver
  std::set<uint64_t> changed_;
  std::vector<Error> refused_;
  bool is_stale_ = true;
};

}  // namespace penstock
