// Learns the parameters of the prediction at arrival from measured rows, and
// cross-validates: keeps each row's error from a fit without its fold. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "predictor/arrival.h"
#include "predictor/measured_rows.h"
#include "predictor/two_point_errors.h"

namespace penstock {

// Predictions of rows by parameters learned without their fold.
struct LeftOut {
  std::vector<size_t> rows;        // index into the table
  std::vector<double> errors;      // log(measured / predicted rate)
  std::vector<std::string> folds;  // each row's fold
  std::map<std::string, LogSumParameters> parameters;  // by fold
};

struct Calibration {
  ArrivalParameters parameters;
  LeftOut by_family;   // one GPU
  LeftOut by_gpu;      // one GPU
  LeftOut by_model;    // one GPU; a tenth of the models at a time
  LeftOut one_node;    // several GPUs, by family, one GPU's rate known
  LeftOut many_nodes;  // the same, on several nodes
  std::vector<TwoPointError> two_points;       // one GPU
  std::vector<TwoPointError> affine;           // one GPU; from all points
  std::vector<TwoPointError> two_points_many;  // several GPUs
};

// Reports that `done` of `total` fits are complete.
using Progress = std::function<void(size_t done, size_t total)>;

// Deterministic. O(folds x rows x parameters^2): about a minute for 3,000
// rows of one GPU and 16,000 of several.
Calibration calibrate(const std::vector<MeasuredRow>& rows,
                      const Progress& progress);

// For each row with several GPUs: median samples/s of the one-GPU rows that are
// otherwise equal; 0 if there are none, and for one-GPU rows.
std::vector<double> known_one_gpu_rates(const std::vector<MeasuredRow>& rows);

// Whether the row itself gives the costs of a sample.
bool costs_given(const MeasuredRow& row);

// Interval expected to contain 90% of further errors. The errors need not be
// sorted. REQUIRES: not empty.
LogInterval ninety_percent(const std::vector<double>& errors);

}  // namespace penstock
