// What the forms of `penstock predict` share: limits that the user names, and
// how a prediction is printed.
#pragma once

#include <optional>

#include "predictor/predictor.h"
#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/problem.h"
#include "tools/penstock/command.h"
#include "tools/penstock/predict_exchange.h"

namespace penstock {

// nullopt: not limited.
struct Limits {
  std::optional<double> cores;
  std::optional<double> bytes_per_s;
};
// Errors: kInvalidArgument  names the option.
[[nodiscard]] Result<Limits> given_limits(const PredictArguments& arguments);

// The arguments of a density, as both forms have them.
ExchangeArguments exchange_arguments(const PredictArguments& arguments);

struct PredictAnswer {
  Prediction prediction;
  allocator::Curve curve;  // the loader cores that a rate needs
  Limits limits;           // under which the rate is told, where there are any
  int ranks = 1;
  std::optional<DensityAnswer> densities;
};
void print_prediction(const PredictAnswer& answer, bool json,
                      Terminal& terminal);

// The job that the arguments describe, and lists of what they may name.
[[nodiscard]] Status run_predict_job(const PredictArguments& arguments,
                                     Terminal& terminal);
void list_models(Terminal& terminal);
void list_gpus(Terminal& terminal);

// `--calibrate` and `--evaluate`.
[[nodiscard]] Status run_predict_tables(const PredictTables& arguments,
                                        Terminal& terminal);

}  // namespace penstock
