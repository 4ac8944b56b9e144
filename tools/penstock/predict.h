// Shared by the forms of `penstock predict`: its options, the user's limits,
// and the output of a prediction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/predictor.h"
#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/problem.h"
#include "tools/penstock/command.h"
#include "tools/penstock/predict_exchange.h"
#include "tools/penstock/site.h"

namespace penstock {

// Files of measured rates; "": none.
struct PredictTables {
  std::string calibrate;
  std::string evaluate;
  std::string output;     // for the parameters; "": standard output
  std::string json_file;  // for the figures
};

// A job as described by its user. 0 and "": unknown.
struct DescribeArguments : JobFeatures {
  std::string precision_label;
  double peak_tflops = 0, memory_gbs = 0;  // of a GPU that is not listed
  std::string interconnect;                // a rate
  std::string bytes_per_sample;
  std::string cpu_class;
  std::vector<std::string> measured;  // BATCH:RATE
  std::string parameters;             // a file; "": the built-in ones
};

struct PredictArguments {
  std::string profile;    // a path has a '/'; else a name
  std::string cores;      // "": not limited
  std::string bandwidth;  // "": not limited
  bool json = false;
  bool list_models = false;
  bool list_gpus = false;
  PredictTables tables;
  DescribeArguments job;
  std::optional<std::string> density;  // in parse_amounts()'s form
  std::string exchange_costs;          // a file; "": none
  Site site;
};

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
