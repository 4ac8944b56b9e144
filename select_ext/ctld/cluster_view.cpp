#include "select_ext/ctld/cluster_view.h"

#include <algorithm>
#include <map>

#include "common/version.h"

namespace penstock {
namespace {

// Sums the parts of jobs, node by node.
class Viewer {
 public:
  Viewer(const Controller& controller, ClusterView& view)
      : controller_(controller), plan_(controller.plan()), view_(view) {
    for (const PoolConfig& pool : plan_.pools()) {
      view_.pools.push_back(
          {pool.name, double(pool.bandwidth_bytes_per_s), 0, 0});
    }
  }

  void add_node(int index, double now_s) {
    const PlannedNode& node = plan_.node(index);
    if (node.cpus == 0) return;  // removed
    NodeView& view = view_.nodes.emplace_back();
    view.name = node.name;
    view.cpus = node.cpus;
    view.loader_cores = node.loader_cores;
    view.heard_ago_s = std::max(0.0, now_s - controller_.heard_s(index));
    view.is_silent = node.is_silent;
    view.jobs = uint32_t(node.parts.size());
    for (const auto& [id, part] : node.parts) add_part(node, part, view);
  }

  void finish() {
    for (auto& [id, job] : jobs_) view_.jobs.push_back(std::move(job));
    std::sort(view_.nodes.begin(), view_.nodes.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }

 private:
  void add_part(const PlannedNode& node, const JobPart& part,
                NodeView& node_view) {
    JobView& job = jobs_[part.id];
    const bool is_first = job.nodes.empty();
    if (is_first) describe(part, job);
    job.nodes.push_back(node.name);
    job.ranks += part.ranks;
    job.entitled_cores += part.entitled_cores;
    job.on_entitlement = job.on_entitlement || part.on_entitlement;
    job.is_silent = job.is_silent || node.is_silent;
    node_view.ranks += part.ranks;
    if (part.in_cores) {
      // The cost per sample is unknown.
      job.ceiling_samples_per_s.reset();
      return;
    }
    const double ceiling = job.ceiling_samples_per_s.value_or(part.ceiling);
    job.ceiling_samples_per_s = std::min(ceiling, part.ceiling);
    if (job.rate_samples_per_s)
      add_use(part, *job.rate_samples_per_s, job, node_view);
  }

  void describe(const JobPart& part, JobView& job) {
    job.job_id = part.id;
    job.uid = part.uid;
    job.name = part.name;
    job.started_unix_s = part.started_unix_s;
    job.pool = part.pool;
    const std::optional<PlannedRate> planned = plan_.rate(part.id);
    if (planned && !part.in_cores) {
      job.floor_samples_per_s = planned->floor;
      job.rate_samples_per_s = planned->rate;
    }
    const int pool = plan_.pool_of(part);
    if (pool >= 0) ++view_.pools[size_t(pool)].jobs;
  }

  void add_use(const JobPart& part, double rate, JobView& job,
               NodeView& node_view) {
    const double cores = rate * part.ranks * part.loader_cpu_s_per_sample;
    const double bytes = rate * part.ranks * part.storage_bytes_per_sample;
    job.loader_cores = job.loader_cores.value_or(0) + cores;
    job.storage_bytes_per_s = job.storage_bytes_per_s.value_or(0) + bytes;
    node_view.planned_cores += cores;
    const int pool = plan_.pool_of(part);
    if (pool >= 0) view_.pools[size_t(pool)].planned_bytes_per_s += bytes;
  }

  const Controller& controller_;
  const ClusterPlan& plan_;
  ClusterView& view_;
  std::map<uint64_t, JobView> jobs_;
};

}  // namespace

ClusterView view_of(const Controller& controller, const std::string& address,
                    Policy policy, double now_s, double now_unix_s) {
  ClusterView view;
  view.controller = address;
  view.version = kVersion;
  view.term = controller.term();
  view.is_active = controller.is_active();
  view.policy = policy_name(policy);
  view.time_unix_s = now_unix_s;
  Viewer viewer(controller, view);
  for (int node = 0; node < controller.plan().node_count(); ++node) {
    viewer.add_node(node, now_s);
  }
  viewer.finish();
  return view;
}

}  // namespace penstock
