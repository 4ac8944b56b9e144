// Learns the parameters of the prediction at arrival from measured rows, and
// keeps what each row's prediction is when its like are left out. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "predictor/arrival.h"
#include "predictor/measured_rows.h"
#include "predictor/two_point_errors.h"

namespace penstock {

// Rows predicted by parameters that were learned without their fold.
struct LeftOut {
  std::vector<size_t> rows;        // in the table
  std::vector<double> errors;      // log(measured / predicted rate)
  std::vector<std::string> folds;  // what was left out
  std::map<std::string, LogSumParameters> parameters;  // by fold
};

struct Calibration {
  ArrivalParameters parameters;
  LeftOut by_family;   // one GPU
  LeftOut by_gpu;      // one GPU
  LeftOut by_model;    // one GPU; a tenth of the models at a time
  LeftOut one_node;    // several GPUs, by family, one GPU's rate known
  LeftOut many_nodes;  // likewise over nodes
  std::vector<TwoPointError> two_points;       // of one GPU
  std::vector<TwoPointError> affine;           // of one GPU, of all points
  std::vector<TwoPointError> two_points_many;  // of several
};

// done of total fits are made.
using Progress = std::function<void(size_t done, size_t total)>;

// Deterministic. O(folds x rows x parameters^2): about a minute for 3,000
// rows of one GPU and 16,000 of several.
Calibration calibrate(const std::vector<MeasuredRow>& rows,
                      const Progress& progress);

// For each row with several GPUs: the rows of one GPU that differ in nothing
// else, as samples/s of one GPU (their median); 0 where there are none.
std::vector<double> known_one_gpu_rates(const std::vector<MeasuredRow>& rows);

// Whether the row's costs came with it.
bool costs_given(const MeasuredRow& row);

// The ends between which 90% of further errors are expected; the errors need
// not be sorted. REQUIRES: not empty.
LogInterval ninety_percent(const std::vector<double>& errors);

}  // namespace penstock
