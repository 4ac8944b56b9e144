// A positive quantity as a sum of terms, each of which is known up to factors
// that are learned:
//
//   y^p = sum_k exp(base_k + sum_{i in k} c_i x_i)^p, and log y has the sum of
//   effects besides
//
// Additive rooflines have this form with p = 1: their terms are times, their
// factors efficiencies. The larger p, the more of the shorter times is hidden
// behind the longest. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace penstock {

// What a coefficient is before anything is measured: normal about mean.
struct Coefficient {
  const char* name;
  int term;
  double mean;
  double sd;
};

// Levels of a kind ("gpu:T4") have effects with mean 0 and this deviation.
struct EffectKind {
  const char* name;
  double sd;
};

struct LogSumForm {
  std::vector<Coefficient> coefficients;
  std::vector<EffectKind> effects;
  int terms = 0;
  double power = 1;  // p, > 0

  // 0 for a kind that the form does not have.
  double effect_sd(const std::string& level) const;
};

struct LogSumInput {
  std::vector<double> bases;         // log of each term, learned factors at 1
  std::vector<double> features;      // x_i, one per coefficient
  std::vector<std::string> effects;  // levels that apply, "KIND:NAME"
};

struct LogSumParameters {
  std::vector<double> coefficients;
  std::map<std::string, double> effects;  // by level; one not in it is 0
};

// Logarithms of the terms, each with the effects in it.
// REQUIRES: sizes as form has them.
std::vector<double> log_terms(const LogSumForm& form, const LogSumInput& input,
                              const LogSumParameters& parameters);

// log y from the logarithms of its terms.
double log_sum(const LogSumForm& form, const std::vector<double>& terms);

}  // namespace penstock
