// Models by name, with what one sample costs. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Figures that are 0 are not known.
struct ModelCosts {
  std::string name;
  std::string family;
  std::string task;
  std::string unit;  // what a sample is: "images", "tokens", ...
  double params_m = 0;
  double fwd_gflops_per_sample = 0;
  double activations_m = 0;
  double per_item = 1;  // samples that one item of a batch holds
  std::string source;
  std::vector<std::string> aliases;
};

// The built-in table (predictor/data/models.csv), in its order.
const std::vector<ModelCosts>& model_table();

// The entry of that name or alias, compared as plain_name(); nullptr without.
const ModelCosts* find_model(std::string_view name);

}  // namespace penstock
