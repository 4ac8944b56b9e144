// Fits the parameters of a log_sum.h form to measurements. Pure.
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
  // Errors of one group are correlated: its rows share an additional effect,
  // which is reported as the level of this name. "": no group.
  std::string group;
  double group_sd = 0;
};

// Finds the mode of the posterior by Gauss-Newton steps. Residuals beyond 3
// standard deviations count linearly (Huber). A step takes
// O(rows x nonzero features^2 + parameters^3). Thread-safe.
class LogSumFit {
 public:
  // REQUIRES: form and rows outlive this; the rows' sizes match the form.
  LogSumFit(const LogSumForm& form, const std::vector<LogSumRow>& rows);
  ~LogSumFit();

  // Uses only the rows i with use[i]. start: initial parameters, such as the
  // fit of all rows; nullptr: the prior's means. Iterates until no parameter
  // changes by more than 10^-3 (with a start) or 10^-4, at most 40 steps.
  LogSumParameters fit(const std::vector<bool>& use,
                       const LogSumParameters* start = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
