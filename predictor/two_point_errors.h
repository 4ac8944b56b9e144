// How far predictions are off after two points of the same job. Internal to
// predictor/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predictor/measured_rows.h"
#include "predictor/two_points.h"

namespace penstock {

// One prediction of one row from two other rows of its job.
struct TwoPointError {
  size_t row = 0;
  std::string family;
  double weight = 0;  // 1 over the pairs that predict this row
  double error = 0;   // log(measured / predicted rate)
  double log_sd = 0;  // that the update states
  // The points' batches are the next smaller and the next larger one.
  bool nearest = false;
};

// What is predicted before a point is measured: the time of an iteration of
// the job, and the deviation of its logarithm.
struct PriorTime {
  IterationTime time;
  double log_sd = 0.35;
};

// Every row, from every pair of rows of the same job at two other batches.
std::vector<TwoPointError> two_point_errors(
    const std::vector<MeasuredRow>& rows, bool several_gpus,
    const std::function<PriorTime(const MeasuredRow&)>& prior);

// The same row from all rows of its job, itself among them: what is left then
// is what no time of the form a + c x batch explains.
std::vector<TwoPointError> affine_residuals(
    const std::vector<MeasuredRow>& rows,
    const std::function<PriorTime(const MeasuredRow&)>& prior);

// Ends of the 90% interval in units of the stated deviation, from the errors
// of all families but one.
LogInterval two_point_scale(const std::vector<TwoPointError>& errors,
                            const std::string& without_family);

}  // namespace penstock
