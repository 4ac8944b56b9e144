#include "select_ext/job_submit/job_request.h"

#include <algorithm>

#include "select_ext/job_submit/tres.h"

namespace penstock::job_submit {
namespace {

constexpr std::string_view kGpu = "gpu";
constexpr uint64_t kBytesPerMib = 1 << 20;
constexpr double kRoundingError = 1e-9;

uint64_t divided_up(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

bool has_gres(const JobRequest& request) {
  return names_any_gres(request.tres_per_job) ||
         names_any_gres(request.tres_per_node) ||
         names_any_gres(request.tres_per_socket) ||
         names_any_gres(request.tres_per_task);
}

// Number of GRES, rounded up, at most `most`. `needed` is per node; one GRES is
// one `unit` of it. std::ceil() is avoided, because libm.a's version cannot be
// linked into a shared object.
uint64_t units(double needed, double unit, double overcommit, uint64_t most) {
  const double wanted = needed / unit / overcommit;
  if (wanted >= static_cast<double>(most)) return most;
  const auto whole = static_cast<uint64_t>(wanted);
  // 2.1 / 0.7 is slightly over 3 by rounding, and must give 3.
  const double rest = wanted - static_cast<double>(whole);
  return rest > wanted * kRoundingError ? whole + 1 : whole;
}

}  // namespace

uint32_t nodes_of(const JobRequest& request) {
  return std::max(request.nodes, 1u);
}

uint32_t tasks_per_node_of(const JobRequest& request) {
  if (request.tasks_per_node > 0) return request.tasks_per_node;
  return std::max(
      static_cast<uint32_t>(divided_up(request.tasks, nodes_of(request))), 1u);
}

uint32_t gpus_per_node_of(const JobRequest& request) {
  const uint64_t per_node = gres_count(request.tres_per_node, kGpu);
  const uint64_t of_job =
      divided_up(gres_count(request.tres_per_job, kGpu), nodes_of(request));
  const uint64_t of_tasks =
      gres_count(request.tres_per_task, kGpu) * tasks_per_node_of(request);
  const uint64_t of_sockets = gres_count(request.tres_per_socket, kGpu) *
                              std::max(request.sockets_per_node, 1u);
  return static_cast<uint32_t>(
      std::min(std::max({per_node, of_job, of_tasks, of_sockets}), kMaxCount));
}

uint32_t ranks_per_node(const JobRequest& request, bool asked) {
  if (const uint32_t gpus = gpus_per_node_of(request); gpus > 0) return gpus;
  const bool counts_tasks =
      asked && steps_need_no_gres(request) && !request.is_het;
  return counts_tasks ? tasks_per_node_of(request) : 0;
}

bool steps_need_no_gres(const JobRequest& request) {
  return request.is_batch && !has_gres(request);
}

Amounts amounts_for(uint64_t millicores_per_rank, uint64_t bytes_per_s_per_rank,
                    uint32_t ranks, const GresLimits& limits) {
  Amounts amounts;
  amounts.loader_cpu = units(static_cast<double>(millicores_per_rank) * ranks,
                             1000, limits.overcommit, limits.node_cores);
  amounts.loader_bw =
      units(static_cast<double>(bytes_per_s_per_rank) * ranks,
            static_cast<double>(kBytesPerMib), limits.overcommit,
            limits.node_bytes_per_s / kBytesPerMib);
  return amounts;
}

Amounts amounts_for(const ModelDemand* demand,
                    const penstock_wire_options& options, uint32_t ranks,
                    const GresLimits& limits) {
  if (ranks == 0) return {};
  const uint64_t millicores = demand != nullptr ? demand->millicores.value : 0;
  const uint64_t bytes = demand != nullptr ? demand->bytes_per_s.value : 0;
  Amounts amounts = amounts_for(millicores, bytes, ranks, limits);
  if (options.bw_bytes_per_s > 0)
    amounts.loader_bw =
        amounts_for(0, options.bw_bytes_per_s, 1, limits).loader_bw;
  return amounts;
}

std::optional<JobDemand> queued_demand(uint32_t job_id,
                                       std::string_view tres_per_node,
                                       double overcommit) {
  const uint64_t gpus = gres_count(tres_per_node, kGpu);
  const uint64_t cores = gres_count(tres_per_node, kLoaderCpu);
  const uint64_t mib_per_s = gres_count(tres_per_node, kLoaderBw);
  if (gpus == 0 || (cores == 0 && mib_per_s == 0)) return std::nullopt;
  // Round down: rounding up would make amounts_for() compute one more GRES.
  const auto per_gpu = [&](uint64_t count, double unit, uint64_t most) {
    const double figure = static_cast<double>(count) * unit * overcommit /
                          static_cast<double>(gpus);
    return figure >= static_cast<double>(most) ? most
                                               : static_cast<uint64_t>(figure);
  };
  return JobDemand{
      job_id, static_cast<uint32_t>(per_gpu(cores, 1000, kMaxMillicores)),
      per_gpu(mib_per_s, static_cast<double>(kBytesPerMib), kMaxBytesPerS)};
}

}  // namespace penstock::job_submit
