#include "predictor/exchange.h"

#include <cmath>

#include "predictor/traits.h"

namespace penstock {
namespace {

constexpr double kBytesPerParameter = 4;
constexpr double kSyncS = 1e-3;
constexpr double kNetSyncS = 5e-3;
constexpr double kStraggleShare = 0.02;
constexpr double kNetworkGbs = 3;  // default, one direction
constexpr double kPcieGbs = 32;    // default, both directions
// The logarithm of an absent term.
constexpr double kNone = -60;

// Logarithm of the time of a ring exchange; gbs: GB/s in one direction.
double log_ring_s(double params_m, double ranks, double gbs) {
  if (ranks < 2) return kNone;
  return std::log(2 * (ranks - 1) / ranks * kBytesPerParameter * params_m *
                  1e-3 / gbs);
}

}  // namespace

const LogSumForm& exchange_form() {
  static const LogSumForm form = [] {
    const std::vector<std::string> terms = {
        "alone",     // the iteration on one GPU
        "ring",      // the exchange inside a node
        "sync",      // a fixed time for every doubling of the GPUs
        "straggle",  // wait for the slowest GPU, as a share of "alone"
        "net_ring",  // the exchange between nodes
        "net_sync",  // a fixed time for every doubling of the nodes
    };
    LogSumForm out;
    out.terms = static_cast<int>(terms.size());
    out.power = 2;  // the backward pass hides part of the exchange
    out.coefficients = coefficients_of("exchange", terms);
    out.effects = {{"software", 0.1}, {"gpu", 0.1}, {"family", 0.1}};
    return out;
  }();
  return form;
}

LogSumInput exchange_input(const DescribedJob& described,
                           double one_gpu_iteration_s) {
  const JobFeatures& job = described.job;
  const GpuType& gpu = described.gpu;
  const double in_node = std::ceil(static_cast<double>(job.gpus) / job.nodes);
  const double both_ways_gbs = gpu.nvlink_gbs > 0 ? gpu.nvlink_gbs
                               : gpu.pcie_gbs > 0 ? gpu.pcie_gbs
                                                  : kPcieGbs;
  const double network_gbs =
      job.network_gbs > 0 ? job.network_gbs : kNetworkGbs;
  const double doublings = std::log2(std::max(2, job.gpus));
  const double alone = std::log(one_gpu_iteration_s);
  const bool many_nodes = job.nodes > 1;

  LogSumInput out;
  out.bases = {alone,
               log_ring_s(job.params_m, in_node, both_ways_gbs / 2),
               std::log(kSyncS * doublings),
               alone + std::log(kStraggleShare * doublings),
               log_ring_s(job.params_m, job.nodes, network_gbs),
               many_nodes ? std::log(kNetSyncS * std::log2(job.nodes)) : kNone};
  Facts facts = traits_of(job.model);
  facts["nvlink"] = gpu.nvlink_gbs > 0;
  facts["data_parallel"] = job.software.data_parallel;
  facts["tensorflow"] = job.software.framework == "tensorflow";
  facts["container"] = job.software.container;
  facts["log_doublings"] = std::log(doublings);
  out.features = features_of(exchange_form(), facts);
  out.effects = {"software:" + job.software.key(), "gpu:" + gpu.name,
                 "family:" + job.family, model_level(described)};
  return out;
}

double several_gpus_s(const DescribedJob& described, double one_gpu_iteration_s,
                      const LogSumParameters& learned) {
  const LogSumForm& form = exchange_form();
  return std::exp(log_sum(
      form, log_terms(form, exchange_input(described, one_gpu_iteration_s),
                      learned)));
}

}  // namespace penstock
