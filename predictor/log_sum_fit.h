// Learns the factors of a log_sum.h form from measurements. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predictor/log_sum.h"

namespace penstock {

struct LogSumRow {
  LogSumInput input;
  double log_y = 0;
  double noise_sd = 0.1;  // of log_y, > 0
  // Rows of one group err alike: they share one more effect, which is
  // reported as the level of this name. "": none.
  std::string group;
  double group_sd = 0;
};

// The parameters of greatest posterior density, by Gauss-Newton steps;
// residuals beyond 3 standard deviations count linearly (Huber). Each step
// takes O(rows x features that are not 0, squared + parameters^3). Thread-safe.
class LogSumFit {
 public:
  // REQUIRES: rows outlives this, and their sizes are the form's.
  LogSumFit(const LogSumForm& form, const std::vector<LogSumRow>& rows);
  ~LogSumFit();

  // From the rows i with use[i] only. start: where to begin, such as the fit
  // of all rows; nullptr: at the prior's means. The end does not depend on it
  // by more than the tolerance of a step, 10^-3 with a start, else 10^-4.
  LogSumParameters fit(const std::vector<bool>& use,
                       const LogSumParameters* start = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
