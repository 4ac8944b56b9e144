// Shared by the forms of `penstock predict`: the user's limits, and the output
// of a prediction.
#pragma once

#include <optional>

#include "predictor/predictor.h"
#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/problem.h"
#include "tools/penstock/command.h"
#include "tools/penstock/predict_exchange.h"

namespace penstock {

// nullopt: no limit.
struct Limits {
  std::optional<double> cores;
  std::optional<double> bytes_per_s;
};
// Errors: kInvalidArgument  names the option.
[[nodiscard]] Result<Limits> given_limits(const PredictArguments& arguments);

// The options of a density, which both forms accept.
ExchangeArguments exchange_arguments(const PredictArguments& arguments);

struct PredictAnswer {
  Prediction prediction;
  allocator::Curve curve;  // loader cores as a function of the rate
  Limits limits;           // limits of the printed rate, if any
  int ranks = 1;
  std::optional<DensityAnswer> densities;
};
void print_prediction(const PredictAnswer& answer, bool json,
                      Terminal& terminal);

// Predicts the described job; the lists show the known models and GPUs.
[[nodiscard]] Status run_predict_job(const PredictArguments& arguments,
                                     Terminal& terminal);
void list_models(Terminal& terminal);
void list_gpus(Terminal& terminal);

// `--calibrate` and `--evaluate`.
[[nodiscard]] Status run_predict_tables(const PredictTables& arguments,
                                        Terminal& terminal);

}  // namespace penstock
