// Errors of predictions that use two measured points of the same job. Internal
// to predictor/.
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
  double weight = 0;  // 1 / number of pairs that predict this row
  double error = 0;   // log(measured / predicted rate)
  double log_sd = 0;  // deviation stated by the update
  // The two points have the next smaller and the next larger batch.
  bool nearest = false;
};

// Prediction before any measured point: time of an iteration of the job, and
// standard deviation of its logarithm.
struct PriorTime {
  IterationTime time;
  double log_sd = 0.35;
};

// Predicts every row from pairs of rows of the same job at two other batches.
// Uses at most 40 pairs a row, and in any case the nearest ones.
std::vector<TwoPointError> two_point_errors(
    const std::vector<MeasuredRow>& rows, bool several_gpus,
    const std::function<PriorTime(const MeasuredRow&)>& prior);

// Predicts every row from all rows of its job, including itself. The remaining
// error is the part that no time of the form a + c x batch explains.
std::vector<TwoPointError> affine_residuals(
    const std::vector<MeasuredRow>& rows,
    const std::function<PriorTime(const MeasuredRow&)>& prior);

// 90% interval in units of the stated deviation, from the errors of all
// families except one.
LogInterval two_point_scale(const std::vector<TwoPointError>& errors,
                            const std::string& without_family);

}  // namespace penstock
