#include "tools/penstock/asked_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/units.h"
#include "exchange/plan/costs_file.h"
#include "predictor/model_table.h"
#include "report/text.h"
#include "tools/penstock/read_file.h"
#include "tools/penstock/what_if_amounts.h"

namespace penstock {
namespace {

constexpr size_t kMaxCostsBytes = size_t{64} * 1024;
constexpr double kBytesPerGb = 1e9;
constexpr int64_t kMostRanks = 1000000;

Error needs(const char* what) {
  return invalid(std::string("--density: needs ") + what);
}

double params_m_of(const ExchangeArguments& arguments, const JobFeatures& job) {
  if (arguments.params_m > 0) return arguments.params_m;
  if (job.params_m > 0) return job.params_m;
  const ModelCosts* listed = find_model(job.model);
  return listed ? listed->params_m : 0;
}

// Of each rank; 0: unknown.
Result<double> link_bytes_per_s(const ExchangeArguments& arguments,
                                const JobFeatures& job) {
  if (arguments.interconnect.empty()) return job.network_gbs * kBytesPerGb;
  Result<uint64_t> rate = parse_rate_bytes_per_s(arguments.interconnect);
  if (!rate) return std::move(rate).error().wrap("--interconnect");
  return static_cast<double>(*rate);
}

// A named link replaces the calibrated one.
Status set_costs(const ExchangeArguments& arguments, const JobFeatures& job,
                 AskedExchange& out) {
  exchange::ExchangeCosts& costs = out.exchange.costs;
  out.knows_costs = !arguments.costs_file.empty();
  if (out.knows_costs) {
    Result<std::string> text = read_file(arguments.costs_file, kMaxCostsBytes);
    if (!text) return std::move(text).error();
    Result<exchange::ExchangeCosts> read = exchange::parse_costs(*text);
    if (!read) return std::move(read).error().wrap(arguments.costs_file);
    costs = *read;
    if (arguments.interconnect.empty()) return Done{};
  }
  Result<double> link = link_bytes_per_s(arguments, job);
  if (!link) return std::move(link).error();
  if (*link == 0)
    return needs(
        "--interconnect RATE, what each rank can send in a second, or "
        "--exchange-costs FILE");
  costs.byte_s = 1 / *link;
  return Done{};
}

Status set_ranks(const ExchangeArguments& arguments, const JobFeatures& job,
                 int64_t ranks, AskedExchange& out) {
  if (arguments.gpus > 0) ranks = arguments.gpus;
  if (ranks < 2)
    return needs("--gpus N of 2 or more: one rank exchanges nothing");
  if (ranks > kMostRanks) return needs("--gpus N of at most 1000000");
  const int nodes = arguments.nodes > 0 ? arguments.nodes : job.nodes;
  if (nodes > ranks) return invalid("--nodes: must not be more than --gpus");
  out.exchange.ranks = static_cast<int>(ranks);
  // A calibration already contains the sharing of a node's link by its ranks.
  const bool calibrated = out.knows_costs && arguments.interconnect.empty();
  if (nodes > 1 && !calibrated)
    out.exchange.ranks_per_link = (out.exchange.ranks - 1) / nodes + 1;
  return Done{};
}

}  // namespace

Result<std::optional<AskedExchange>> asked_exchange(
    const ExchangeArguments& arguments, const JobFeatures& job, int64_t ranks) {
  if (!arguments.density) return std::optional<AskedExchange>();
  AskedExchange out;
  Result<std::vector<double>> named =
      parse_amounts(Axis::kDensity, *arguments.density);
  if (!named) return std::move(named).error().wrap("--density");
  out.named = out.densities = *std::move(named);
  if (out.densities.back() < 1) out.densities.push_back(1);
  const double params_m = params_m_of(arguments, job);
  if (params_m == 0) return needs("--params N, the model's in millions");
  out.exchange.parameters = static_cast<size_t>(std::ceil(params_m * 1e6));
  out.exchange.batch =
      arguments.batch > 0 ? arguments.batch : job.batch_per_gpu;
  if (out.exchange.batch == 0)
    return needs("--batch N, the samples of a rank in a step");
  if (Status set = set_costs(arguments, job, out); !set)
    return std::move(set).error();
  if (Status set = set_ranks(arguments, job, ranks, out); !set)
    return std::move(set).error();
  return std::optional(std::move(out));
}

std::string exchange_text(const AskedExchange& asked) {
  const GradientExchange& it = asked.exchange;
  std::string out = fmt::format("{:.4g}M parameters, {} ranks",
                                double(it.parameters) * 1e-6, it.ranks);
  if (it.costs.byte_s == 0) return out;  // too short to be measured
  out += ", " + format_rate(1 / it.costs.byte_s);
  if (it.ranks_per_link == 1) return out + " each";
  return out + fmt::format(" for {} of them", it.ranks_per_link);
}

const char* method_name(const StepTimes& step) {
  // All layers are alike except the last, which may be smaller.
  switch (step.layers.front().method) {
    case exchange::Method::kDense:
      return "dense";
    case exchange::Method::kAllgather:
      return "allgather";
    case exchange::Method::kTwoPhase:
      return "two-phase";
  }
  return "";
}

std::string time_text(double seconds) {
  if (seconds >= 1) return figure_text(seconds) + " s";
  if (seconds >= 1e-3 || seconds == 0)
    return figure_text(seconds * 1e3) + " ms";
  return figure_text(seconds * 1e6) + " us";
}

nlohmann::ordered_json exchange_json(const AskedExchange& asked) {
  using json = nlohmann::ordered_json;
  const GradientExchange& it = asked.exchange;
  return {{"parameters", it.parameters},
          {"samples_per_step", it.batch},
          {"ranks", it.ranks},
          {"ranks_per_link", it.ranks_per_link},
          {"link_bytes_per_s",
           it.costs.byte_s > 0 ? json(1 / it.costs.byte_s) : json()},
          {"costs_measured", asked.knows_costs}};
}

nlohmann::ordered_json step_json(const StepTimes& step) {
  return {{"method", method_name(step)},
          {"step_s", step.step_s},
          {"exchange_s", step.exchange_s},
          {"exchange_stall_s", step.stall_s()}};
}

}  // namespace penstock
