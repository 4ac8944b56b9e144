// The coefficients of the forms (log_sum.h) of the prediction at arrival, from
// predictor/data/coefficients.csv. Internal to predictor/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/log_sum.h"

namespace penstock {

// What is known of a job, by name. A fact that is not there is 0.
using Facts = std::map<std::string, double, std::less<>>;

// terms: the names of the form's terms, in order. Rows of other terms are left
// out; a unit test reads all of the table.
std::vector<Coefficient> coefficients_of(std::string_view form,
                                         const std::vector<std::string>& terms);

// The feature of each coefficient: the product of its facts.
std::vector<double> features_of(const LogSumForm& form, const Facts& facts);

}  // namespace penstock
