#include "tools/penstock/predict_exchange.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/units.h"
#include "report/text.h"
#include "tools/penstock/what_if_amounts.h"

namespace penstock {
namespace {

Figure scaled(const Figure& it, double factor) {
  return {it.value * factor, it.low * factor, it.high * factor};
}

// The loader's costs per sample do not depend on the ceiling.
Prediction with_ceiling(const Prediction& from, double samples_per_s) {
  const double factor = samples_per_s / from.ceiling_samples_per_s.value;
  Prediction out = from;
  out.ceiling_samples_per_s = scaled(from.ceiling_samples_per_s, factor);
  out.demand_cores = scaled(from.demand_cores, factor);
  out.demand_bytes_per_s = scaled(from.demand_bytes_per_s, factor);
  out.trainer_reserve_cores *= factor;
  return out;
}

// The computing time of a step: that of the same job on one GPU.
Result<double> one_gpu_s(const AskedExchange& asked, Profile profile) {
  profile.job.gpus = profile.job.nodes = 1;
  Result<Prediction> alone = predict(profile);
  if (!alone) return std::move(alone).error();
  return asked.exchange.batch / alone->ceiling_samples_per_s.value;
}

// Predicts anew for each density, because the cost per sample may change along
// a measured curve of cores.
Result<DensityAnswer> densities_of_costs(const AskedExchange& asked,
                                         const Profile& profile) {
  const Result<double> computing_s =
      compute_s(asked.exchange, 1 / profile.accelerator_s_per_sample,
                profile.ranks_in_all());
  if (!computing_s) return Error(computing_s.error()).wrap("--density");
  DensityAnswer out{.asked = asked, .rows = {}};
  for (const double density : asked.densities) {
    DensityRow row;
    row.density = density;
    row.step = step_with(asked.exchange, *computing_s, density);
    Profile sparse = profile;
    sparse.accelerator_s_per_sample = row.step.step_s / asked.exchange.batch;
    Result<Prediction> prediction = predict(sparse);
    if (!prediction) return std::move(prediction).error();
    row.prediction = *std::move(prediction);
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string cores_text(const Figure& cores) {
  return cores.known() ? fmt::format("{:.4g}", cores.value) : "unknown";
}

std::string rate_text(const Figure& rate) {
  return rate.known() ? format_rate(rate.value) : "unknown";
}

}  // namespace

Result<DensityAnswer> densities_of(const AskedExchange& asked,
                                   const Profile& profile) {
  if (!profile.describes_job()) return densities_of_costs(asked, profile);
  Result<double> computing_s = one_gpu_s(asked, profile);
  if (!computing_s) return std::move(computing_s).error();
  Result<Prediction> prediction = predict(profile);
  if (!prediction) return std::move(prediction).error();
  DensityAnswer out = densities_of(asked, *computing_s, *prediction);
  out.from_one_gpu = true;
  return out;
}

DensityAnswer densities_of(const AskedExchange& asked, double computing_s,
                           const Prediction& prediction) {
  DensityAnswer out{.asked = asked, .rows = {}};
  for (const double density : asked.densities) {
    StepTimes step = step_with(asked.exchange, computing_s, density);
    const double ceiling = asked.exchange.batch / step.step_s;
    out.rows.push_back(
        {density, std::move(step), with_ceiling(prediction, ceiling)});
  }
  return out;
}

std::string density_text(const DensityAnswer& answer, const TextStyle& style) {
  Page page(style);
  page.line("Exchange of gradients: " + exchange_text(answer.asked));
  page.line(fmt::format("  {:>7}  {:<10} {:>8} {:>8} {:>10} {:>8} {:>12}",
                        "density", "how", "exchange", "stall", "samples/s",
                        "cores", "storage"));
  for (const DensityRow& row : answer.rows) {
    const Prediction& it = row.prediction;
    page.line(fmt::format(
        "  {:>7}  {:<10} {:>8} {:>8} {:>10.4g} {:>8} {:>12}",
        amount_text(Axis::kDensity, row.density), method_name(row.step),
        time_text(row.step.exchange_s), time_text(row.step.stall_s()),
        it.ceiling_samples_per_s.value, cores_text(it.demand_cores),
        rate_text(it.demand_bytes_per_s)));
  }
  if (answer.from_one_gpu)
    page.line(
        "The ceiling above was calibrated on jobs whose links are not known; "
        "these rows are a step of one GPU with what this link adds.",
        2);
  if (!answer.asked.knows_costs) page.line(kOnlyLinkNote, 2);
  return page.take();
}

nlohmann::ordered_json figure_json(const Figure& it) {
  if (!it.known()) return nullptr;
  return {{"value", it.value}, {"low", it.low}, {"high", it.high}};
}

nlohmann::ordered_json density_json(const DensityAnswer& answer) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DensityRow& row : answer.rows) {
    const Prediction& it = row.prediction;
    rows.push_back(
        {{"density", row.density},
         {"step", step_json(row.step)},
         {"ceiling_samples_per_s", figure_json(it.ceiling_samples_per_s)},
         {"demand_cores", figure_json(it.demand_cores)},
         {"demand_bytes_per_s", figure_json(it.demand_bytes_per_s)}});
  }
  nlohmann::ordered_json json = exchange_json(answer.asked);
  json["densities"] = std::move(rows);
  return json;
}

}  // namespace penstock
