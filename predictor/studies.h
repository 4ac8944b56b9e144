// Evaluates the prediction at arrival: errors and intervals on measured rows
// outside of its calibration. Pure.
#pragma once

#include <string>
#include <vector>

#include "predictor/calibration.h"

namespace penstock {

// Result of one study. error: |predicted / measured - 1|.
struct StudyScore {
  std::string name;
  std::vector<double> errors;   // of each row
  std::vector<double> weights;  // of each row; empty: all 1
  std::vector<double> widths;   // of each interval, upper / lower end
  double covered = 0;           // weight of rows within their interval
  double weight = 0;            // of all rows
  double median_of_families = 0;

  double coverage() const { return weight > 0 ? covered / weight : 0; }
  // Weighted quantile of the errors; weighted median of the widths. REQUIRES:
  // at least one row.
  double error_at(double part) const;
  double width() const;
};

// Cross-validation on the calibration's own rows; each row's interval comes
// from the errors of other folds. A fold is left out of the fit:
//   family      one family, rows with FLOPs
//   no_flops    one family, rows without FLOPs
//   gpu         one GPU type, rows with FLOPs; a family that only this type has
//               uses the interval of a new family
//   one_node    one family, several GPUs of a node, one GPU's rate known
//   many_nodes  the same, on several nodes
//   two_points  one family, then corrected by two points of the same job at
//               other batches, averaged over all such pairs
//   two_points_nearest  the same, with the next smaller and next larger batch
//   two_points_many  two_points for jobs with several GPUs
// Studies without a prediction:
//   affine      a line through all points of the job, against its points
//   repeats     each row against the median of the rows with the same model,
//               batch, precision, GPU type and FLOPs
// Omits studies without rows.
std::vector<StudyScore> score_left_out(const std::vector<MeasuredRow>& rows,
                                       const Calibration& calibration);

// Studies of rows that the parameters were not learned from:
//   family, gpu, both  rows with FLOPs and a new family, GPU type, or both
//   known       rows with FLOPs and neither
//   no_flops    rows without FLOPs
//   one_node, many_nodes, two_points, two_points_nearest, affine,
//   two_points_many, repeats  as above
std::vector<StudyScore> score_new_rows(const std::vector<MeasuredRow>& rows,
                                       const ArrivalParameters& parameters);

}  // namespace penstock
