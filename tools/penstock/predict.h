// What the forms of `penstock predict` share: limits that the user names, and
// how a prediction is printed.
#pragma once

#include <optional>

#include "predictor/predictor.h"
#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/problem.h"
#include "tools/penstock/command.h"

namespace penstock {

// nullopt: not limited.
struct Limits {
  std::optional<double> cores;
  std::optional<double> bytes_per_s;
};
// Errors: kInvalidArgument  names the option.
[[nodiscard]] Result<Limits> given_limits(const PredictArguments& arguments);

// Prints prediction, and the rate under limits where there are any. curve:
// the loader cores that a rate needs.
// Errors: the allocator's, for a curve that it refuses.
[[nodiscard]] Status print_prediction(const Prediction& prediction,
                                      const allocator::Curve& curve,
                                      const Limits& limits, int ranks,
                                      bool json, Terminal& terminal);

// The job that the arguments describe, and lists of what they may name.
[[nodiscard]] Status run_predict_job(const PredictArguments& arguments,
                                     Terminal& terminal);
void list_models(Terminal& terminal);
void list_gpus(Terminal& terminal);

// `--calibrate` and `--evaluate`.
[[nodiscard]] Status run_predict_tables(const PredictTables& arguments,
                                        Terminal& terminal);

}  // namespace penstock
