// `penstock predict --density`: the same job at other densities of the gradient
// exchange.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "predictor/predictor.h"
#include "report/render.h"
#include "tools/penstock/asked_exchange.h"

namespace penstock {

struct DensityRow {
  double density = 1;
  StepTimes step;
  Prediction prediction;
};
struct DensityAnswer {
  AskedExchange asked;
  std::vector<DensityRow> rows;  // densities ascend to 1
  bool from_one_gpu = false;     // true for a described job
};

// The prediction of `penstock predict PROFILE` at these densities. For a
// profile that describes a job, the computing time comes from one GPU.
// Errors: compute_s()'s and predict()'s
[[nodiscard]] Result<DensityAnswer> densities_of(const AskedExchange& asked,
                                                 const Profile& profile);

// The same if only the ceiling changes. compute_s: a rank's computing time per
// step.
DensityAnswer densities_of(const AskedExchange& asked, double compute_s,
                           const Prediction& prediction);

std::string density_text(const DensityAnswer& answer, const TextStyle& style);
nlohmann::ordered_json density_json(const DensityAnswer& answer);

// null if the figure is unknown.
nlohmann::ordered_json figure_json(const Figure& figure);

}  // namespace penstock
