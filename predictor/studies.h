// How well the prediction at arrival does: errors and intervals on measured
// rows that it was not calibrated on. Pure.
#pragma once

#include <string>
#include <vector>

#include "predictor/calibration.h"

namespace penstock {

// Of one study. error: |predicted / measured - 1|.
struct StudyScore {
  std::string name;
  std::vector<double> errors;   // of each row
  std::vector<double> weights;  // that it counts with; empty: all 1
  std::vector<double> widths;   // of its interval, upper / lower end
  double covered = 0;           // weight of rows within their interval
  double weight = 0;            // of all rows
  double median_of_families = 0;

  double coverage() const { return weight > 0 ? covered / weight : 0; }
  // Weighted. REQUIRES: rows.
  double error_at(double part) const;
  double width() const;
};

// Studies by leaving out within the calibration's own rows: each row's
// interval comes from the errors of other folds.
//   family      one family out, rows with FLOPs
//   no_flops    one family out, rows without
//   gpu         one GPU type out, rows with FLOPs; a row whose family only
//               that type has has the interval of a new family
//   one_node    one family out, several GPUs of a node, one GPU's rate known
//   many_nodes  likewise over nodes
//   two_points  one family out, then two points of the same job measured at
//               other batches, averaged over all such pairs
//   two_points_nearest  the same where they are the next smaller and the next
//               larger batch
//   affine      no prediction: a line through all points of the job, against
//               its points
//   two_points_many  like two_points, of jobs with several GPUs
//   repeats     no prediction: one of several rows of one model, batch,
//               precision and GPU type for another
// Studies without rows are left out.
std::vector<StudyScore> score_left_out(const std::vector<MeasuredRow>& rows,
                                       const Calibration& calibration);

// Studies of rows that parameters were not learned from:
//   family, no_flops, gpu  as above, where family or GPU type are new; both:
//               where both are
//   known       where neither is
//   one_node, many_nodes, two_points, two_points_nearest, affine,
//   two_points_many, repeats  as above
std::vector<StudyScore> score_new_rows(const std::vector<MeasuredRow>& rows,
                                       const ArrivalParameters& parameters);

}  // namespace penstock
