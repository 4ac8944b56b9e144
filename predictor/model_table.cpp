#include "predictor/model_table.h"

#include <map>
#include <sstream>

#include "predictor/csv_table.h"
#include "predictor/data.h"
#include "predictor/gpu_table.h"

namespace penstock {
namespace {

std::vector<ModelCosts> read_models() {
  std::vector<ModelCosts> models;
  Result<CsvTable> table = CsvTable::parse(data::kModels, "models.csv");
  if (!table) return models;
  for (size_t i = 0; i < table->rows(); ++i) {
    ModelCosts model;
    model.name = table->text(i, "model");
    model.family = table->text(i, "family");
    model.task = table->text(i, "task");
    model.unit = table->text(i, "unit");
    model.source = table->text(i, "source");
    const auto number = [&](const char* column) {
      return table->number(i, column, 0, 1e9, 0).value_or(0);
    };
    model.params_m = number("params_m");
    model.fwd_gflops_per_sample = number("fwd_gflops_per_sample");
    model.activations_m = number("activations_m");
    model.per_item = table->number(i, "per_item", 1e-3, 1e6, 1).value_or(1);
    std::istringstream aliases(table->text(i, "alias"));
    for (std::string alias; aliases >> alias;) model.aliases.push_back(alias);
    models.push_back(std::move(model));
  }
  return models;
}

std::map<std::string, const ModelCosts*> names_of(
    const std::vector<ModelCosts>& models) {
  std::map<std::string, const ModelCosts*> names;
  for (const ModelCosts& model : models) {
    names.emplace(plain_name(model.name), &model);
    for (const std::string& alias : model.aliases) {
      names.emplace(plain_name(alias), &model);
    }
  }
  return names;
}

}  // namespace

const std::vector<ModelCosts>& model_table() {
  static const std::vector<ModelCosts> models = read_models();
  return models;
}

const ModelCosts* find_model(std::string_view name) {
  static const auto names = names_of(model_table());
  const auto found = names.find(plain_name(name));
  return found == names.end() ? nullptr : found->second;
}

}  // namespace penstock
