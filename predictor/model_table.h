// Table of models with their costs per sample. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// A number that is 0 is unknown.
struct ModelCosts {
  std::string name;
  std::string family;
  std::string task;
  std::string unit;  // what a sample is: "images", "tokens", ...
  double params_m = 0;
  double fwd_gflops_per_sample = 0;
  double activations_m = 0;
  double per_item = 1;  // samples in one item of a batch
  std::string source;
  std::vector<std::string> aliases;
};

// The built-in table, in the order of predictor/data/models.csv.
const std::vector<ModelCosts>& model_table();

// The entry with this name or alias, compared as plain_name(); nullptr if none.
const ModelCosts* find_model(std::string_view name);

}  // namespace penstock
