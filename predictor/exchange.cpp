#include "predictor/exchange.h"

#include <cmath>

#include "predictor/traits.h"

namespace penstock {
namespace {

enum Term {
  kAlone = 0,     // the iteration on one GPU
  kRing = 1,      // the exchange inside a node
  kSync = 2,      // a fixed time for every doubling of the GPUs
  kStraggle = 3,  // wait for the slowest GPU, as a share of kAlone
  kNetRing = 4,   // the exchange between nodes
  kNetSync = 5,   // a fixed time for every doubling of the nodes
  kTerms = 6
};

struct Facts {
  double nvlink, data_parallel, tensorflow, container, embedding;
  double log_doublings;  // log of log2(GPUs)
};

struct Learned {
  Coefficient prior;
  double (*feature)(const Facts&);
};

const Learned kLearned[] = {
    {{"ring", kRing, -0.5, 0.7}, [](const Facts&) { return 1.0; }},
    {{"ring.nvlink", kRing, 0, 0.5}, [](const Facts& f) { return f.nvlink; }},
    {{"ring.data_parallel", kRing, 1, 0.7},
     [](const Facts& f) { return f.data_parallel; }},
    {{"ring.tensorflow", kRing, 0, 0.5},
     [](const Facts& f) { return f.tensorflow; }},
    // Most rows of an embedding table have no gradient to exchange.
    {{"ring.embedding", kRing, -1, 0.5},
     [](const Facts& f) { return f.embedding; }},
    {{"ring.gpus", kRing, 0.2, 0.3},
     [](const Facts& f) { return f.log_doublings; }},
    {{"sync", kSync, 0, 0.7}, [](const Facts&) { return 1.0; }},
    {{"sync.data_parallel", kSync, 1.5, 0.7},
     [](const Facts& f) { return f.data_parallel; }},
    {{"sync.tensorflow", kSync, 0, 0.5},
     [](const Facts& f) { return f.tensorflow; }},
    {{"sync.gpus", kSync, 0, 0.3},
     [](const Facts& f) { return f.log_doublings; }},
    {{"straggle", kStraggle, 1.5, 0.7}, [](const Facts&) { return 1.0; }},
    {{"straggle.data_parallel", kStraggle, 0.5, 0.7},
     [](const Facts& f) { return f.data_parallel; }},
    {{"straggle.nvlink", kStraggle, 0, 0.4},
     [](const Facts& f) { return f.nvlink; }},
    {{"straggle.container", kStraggle, 0, 0.4},
     [](const Facts& f) { return f.container; }},
    {{"straggle.gpus", kStraggle, 0, 0.3},
     [](const Facts& f) { return f.log_doublings; }},
    {{"net_ring", kNetRing, 0, 1}, [](const Facts&) { return 1.0; }},
    {{"net_ring.nvlink", kNetRing, 0, 0.7},
     [](const Facts& f) { return f.nvlink; }},
    {{"net_sync", kNetSync, 0, 1}, [](const Facts&) { return 1.0; }},
    {{"net_sync.nvlink", kNetSync, 0, 0.7},
     [](const Facts& f) { return f.nvlink; }},
};

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
    LogSumForm out;
    out.terms = kTerms;
    out.power = 2;  // the backward pass hides part of the exchange
    for (const Learned& it : kLearned) out.coefficients.push_back(it.prior);
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
  Facts facts{};
  facts.nvlink = gpu.nvlink_gbs > 0;
  facts.data_parallel = job.software.data_parallel;
  facts.tensorflow = job.software.framework == "tensorflow";
  facts.container = job.software.container;
  facts.embedding = traits_of(job.model).embedding;
  facts.log_doublings = std::log(doublings);
  for (const Learned& it : kLearned) out.features.push_back(it.feature(facts));
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
