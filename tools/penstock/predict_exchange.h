// `penstock predict --density`: the same job at other densities of the exchange
// of gradients.
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
  std::vector<DensityRow> rows;  // densities ascend, to 1
  bool from_one_gpu = false;     // as a described job's steps are
};

// What `penstock predict PROFILE` says with these densities. A profile that
// describes a job has its steps from one GPU of it.
// Errors: compute_s()'s and predict()'s
[[nodiscard]] Result<DensityAnswer> densities_of(const AskedExchange& asked,
                                                 const Profile& profile);

// The same where only the ceiling moves: a rank computes for compute_s in a
// step.
DensityAnswer densities_of(const AskedExchange& asked, double compute_s,
                           const Prediction& prediction);

std::string density_text(const DensityAnswer& answer, const TextStyle& style);
nlohmann::ordered_json density_json(const DensityAnswer& answer);

// null where the figure is not known.
nlohmann::ordered_json figure_json(const Figure& figure);

}  // namespace penstock
