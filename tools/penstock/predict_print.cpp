#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "common/units.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/predict.h"

namespace penstock {
namespace {

constexpr double kMostCores = 4096;

// The rate under the given limits, and the limiting factor, as the allocator
// computes them.
struct Limited {
  std::optional<double> samples_per_s;  // nullopt: a cost is unknown
  const char* by = "";
};

Limited limited_rate(const allocator::Curve& curve,
                     const Prediction& prediction, const Limits& limits) {
  const auto& [cores, bytes_per_s] = limits;
  if ((cores && !prediction.demand_cores.known()) ||
      (bytes_per_s && !prediction.demand_bytes_per_s.known())) {
    return Limited{};
  }
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  allocator::Job job;
  job.ceiling = prediction.ceiling_samples_per_s.value;
  job.bytes_per_rate = prediction.storage_bytes_per_sample.value;
  job.cores_curve = curve;
  double plenty = job.max_cores;
  double by_cores =
      allocator::entitled_rate(job, cores.value_or(plenty), kNoLimit);
  double by_storage =
      allocator::entitled_rate(job, plenty, bytes_per_s.value_or(kNoLimit));
  double rate = std::min(by_cores, by_storage);
  const char* by = rate >= job.ceiling  ? "the accelerator"
                   : rate == by_storage ? "storage bandwidth"
                                        : "loader cores";
  return Limited{rate, by};
}

std::string figure(const Figure& it, const char* unit) {
  if (!it.known()) return "unknown";
  return fmt::format("{:.4g} [{:.4g} to {:.4g}] {}", it.value, it.low, it.high,
                     unit);
}

std::string rate_figure(const Figure& it) {
  if (!it.known()) return "unknown";
  return fmt::format("{} [{} to {}]", format_rate(it.value),
                     format_rate(it.low), format_rate(it.high));
}

// 0 in a profile means that the trainer's use is unknown.
std::optional<double> reserve_of(const Prediction& prediction) {
  if (prediction.trainer_reserve_cores > 0) {
    return prediction.trainer_reserve_cores;
  }
  return std::nullopt;
}

void print_text(const PredictAnswer& answer, const Limited& limited,
                std::ostream& out) {
  const Prediction& prediction = answer.prediction;
  std::optional<double> reserve = reserve_of(prediction);
  out << fmt::format(
      "Per rank, from {}\n"
      "  ceiling          {}\n"
      "  loader cores     {}\n"
      "  storage          {}\n"
      "  trainer reserve  {}\n",
      prediction.basis, figure(prediction.ceiling_samples_per_s, "samples/s"),
      figure(prediction.demand_cores, "for the ceiling"),
      rate_figure(prediction.demand_bytes_per_s),
      reserve ? fmt::format("{:.4g} cores", *reserve) : "unknown");
  if (answer.ranks > 1) {
    out << fmt::format("  all {} ranks     {:.4g} samples/s\n", answer.ranks,
                       answer.ranks * prediction.ceiling_samples_per_s.value);
  }
  if (!answer.limits.cores && !answer.limits.bytes_per_s) return;
  if (!limited.samples_per_s) {
    out << "  rate with that   unknown: the costs of a sample are unknown\n";
    return;
  }
  out << fmt::format(
      "  rate with that   {:.4g} samples/s, {:.0f}% of the ceiling, limited by "
      "{}\n",
      *limited.samples_per_s,
      100 * *limited.samples_per_s / prediction.ceiling_samples_per_s.value,
      limited.by);
}

void print_json(const PredictAnswer& answer, const Limited& limited,
                std::ostream& out) {
  const Prediction& prediction = answer.prediction;
  nlohmann::ordered_json json = {
      {"schema_version", 1},
      {"kind", "prediction"},
      {"basis", prediction.basis},
      {"ranks", answer.ranks},
      {"ceiling_samples_per_s", figure_json(prediction.ceiling_samples_per_s)},
      {"loader_cpu_s_per_sample",
       figure_json(prediction.loader_cpu_s_per_sample)},
      {"storage_bytes_per_sample",
       figure_json(prediction.storage_bytes_per_sample)},
      {"demand_cores", figure_json(prediction.demand_cores)},
      {"demand_bytes_per_s", figure_json(prediction.demand_bytes_per_s)},
      {"trainer_reserve_cores", nullptr},
      {"rate_samples_per_s", nullptr},
      {"limited_by", nullptr}};
  if (auto reserve = reserve_of(prediction)) {
    json["trainer_reserve_cores"] = *reserve;
  }
  if (limited.samples_per_s) {
    json["rate_samples_per_s"] = *limited.samples_per_s;
    json["limited_by"] = limited.by;
  }
  if (answer.densities) json["exchange"] = density_json(*answer.densities);
  out << json_text(json);
}

}  // namespace

Result<Limits> given_limits(const PredictArguments& arguments) {
  Limits out;
  if (!arguments.cores.empty()) {
    Result<double> cores = parse_number(arguments.cores, 0, kMostCores);
    if (!cores) return std::move(cores).error().wrap("--cores");
    out.cores = *cores;
  }
  if (!arguments.bandwidth.empty()) {
    Result<uint64_t> rate = parse_rate_bytes_per_s(arguments.bandwidth);
    if (!rate) return std::move(rate).error().wrap("--bandwidth");
    out.bytes_per_s = static_cast<double>(*rate);
  }
  return out;
}

ExchangeArguments exchange_arguments(const PredictArguments& arguments) {
  const DescribeArguments& job = arguments.job;
  return {.density = arguments.density,
          .costs_file = arguments.exchange_costs,
          .interconnect = job.interconnect,
          .params_m = job.params_m,
          .batch = job.batch_per_gpu,
          .gpus = job.gpus > 1 ? job.gpus : 0,
          .nodes = job.nodes > 1 ? job.nodes : 0};
}

void print_prediction(const PredictAnswer& answer, bool json,
                      Terminal& terminal) {
  const Limited limited =
      limited_rate(answer.curve, answer.prediction, answer.limits);
  if (json) return print_json(answer, limited, terminal.out);
  print_text(answer, limited, terminal.out);
  if (answer.densities)
    terminal.out << density_text(*answer.densities, terminal.style);
}

}  // namespace penstock
