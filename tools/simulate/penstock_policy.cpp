// The policy under test: the daemons' predictor and allocator.
#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "predictor/predictor.h"
#include "select_ext/allocator/cluster.h"
#include "tools/simulate/policy.h"

namespace penstock::simulate {
namespace {

using allocator::ClusterJob;
using allocator::ClusterNode;
using allocator::ClusterPart;
using allocator::ClusterSolver;
using allocator::Curve;

// Cores that a rank needs for `rate`, by the measured curve.
double cores_for(const TraceJob& job, double rate) {
  allocator::MeasuredPoint from;
  for (const allocator::MeasuredPoint& to : job.curve) {
    if (rate <= to.rate) {
      return from.cores + (to.cores - from.cores) * (rate - from.rate) /
                              (to.rate - from.rate);
    }
    from = to;
  }
  return from.cores;
}

class Penstock : public RatePolicy {
 public:
  Penstock(const ClusterSize& size, const PenstockOptions& options)
      : size_(size), options_(options) {
    ClusterNode node;
    node.cores = size.cores_per_node;
    if (options.is_pool) node.cores *= size.nodes;
    std::vector<ClusterNode> nodes(options.is_pool ? 1 : size.nodes, node);
    solver_ = std::make_unique<ClusterSolver>(
        *ClusterSolver::create(std::move(nodes), {}, options.policy));
  }

  Status start(const Running& running) override {
    const TraceJob& job = *running.job;
    Result<Curve> hull = allocator::concave_hull(job.curve);
    if (!hull) return std::move(hull).error();
    const Result<Prediction> predicted = predict(profile_of(job));
    if (!predicted) return predicted.error();
    const double ceiling = predicted->ceiling_samples_per_s.value;
    const double cores = predicted->demand_cores.value / ceiling_cores(job);
    for (auto& point : *hull) {
      point.cores *= cores;
      point.rate *= ceiling / job.ceiling;
    }
    ClusterJob request;
    request.id = job.id;
    request.weight = job.gpus;
    request.ceiling = ceiling;
    request.cores_curve = *hull;
    for (const Share& share : located(running.shares)) {
      ClusterPart part;
      part.node = share.node;
      part.ranks = share.gpus;
      part.entitled_cores = share.gpus * size_.cores_per_gpu();
      request.parts.push_back(part);
    }
    hulls_[job.id] = std::move(*hull);
    return solver_->add(request);
  }

  Status end(const Running& running) override {
    hulls_.erase(running.job->id);
    return solver_->remove(running.job->id);
  }

  Status set_rates(std::vector<Running>& running) override {
    solver_->settle();
    // If predictions may be wrong, a job keeps its entitled CPUs, because
    // lending never takes them. With exact predictions the grant alone must be
    // enough.
    const double kept = options_.prediction_error > 1 ? entitled_per_rank() : 0;
    std::vector<double> used(options_.is_pool ? 1 : size_.nodes, 0);
    std::vector<double> borrowed(used.size(), 0);
    for (Running& it : running) {
      const double cores = std::max(granted_per_rank(it), kept);
      it.rate = measured_rate(*it.job, cores);
      const double needed = cores_for(*it.job, it.rate);
      for (const Share& share : located(it.shares)) {
        used[share.node] += share.gpus * needed;
        borrowed[share.node] +=
            share.gpus * std::max(0.0, needed - entitled_per_rank());
      }
    }
    for (Running& it : running) fit(it, used, borrowed);
    return Done{};
  }

 private:
  // The measured costs with a random error of up to prediction_error.
  Profile profile_of(const TraceJob& job) const {
    const double error = std::log(options_.prediction_error);
    std::uniform_real_distribution<double> factor(-error, error);
    // The same seed in each round: errors that change from round to round would
    // cancel out.
    std::seed_seq seeds{options_.seed, job.id};
    std::mt19937_64 random(seeds);
    Profile profile;
    profile.name = job.model;
    profile.accelerator_s_per_sample = std::exp(factor(random)) / job.ceiling;
    profile.loader_cpu_s_per_sample =
        std::exp(factor(random)) * ceiling_cores(job) / job.ceiling;
    return profile;
  }

  double entitled_per_rank() const { return size_.cores_per_gpu(); }

  double granted_per_rank(const Running& running) const {
    const Result<double> rate = solver_->rate(running.job->id);
    return rate ? cores_at(hulls_.at(running.job->id), *rate) : 0;
  }

  // If predictions were too low, a node's jobs may need more cores than it has.
  // Borrowers then share the cores that entitlements leave.
  void fit(Running& running, const std::vector<double>& used,
           const std::vector<double>& borrowed) const {
    const double node_cores = options_.is_pool
                                  ? size_.cores_per_node * size_.nodes
                                  : size_.cores_per_node;
    const double needed = cores_for(*running.job, running.rate);
    const double wish = needed - entitled_per_rank();
    if (wish <= 0) return;
    double part = 1;
    for (const Share& share : located(running.shares)) {
      const double excess = used[share.node] - node_cores;
      if (excess <= 1e-9 * node_cores) continue;
      part = std::min(part, 1 - excess / borrowed[share.node]);
    }
    if (part == 1) return;
    running.rate =
        measured_rate(*running.job, entitled_per_rank() + part * wish);
  }

  Shares located(const Shares& shares) const {
    if (!options_.is_pool) return shares;
    Share all;
    for (const Share& share : shares) all.gpus += share.gpus;
    return {all};
  }

  ClusterSize size_;
  PenstockOptions options_;
  std::unique_ptr<ClusterSolver> solver_;
  std::unordered_map<uint64_t, Curve> hulls_;
};

}  // namespace

std::unique_ptr<RatePolicy> make_penstock(const ClusterSize& size,
                                          const PenstockOptions& options) {
  return std::make_unique<Penstock>(size, options);
}

}  // namespace penstock::simulate
