// A positive quantity as a sum of terms, each known up to learned factors:
//
//   y^p = sum_k exp(base_k + sum_{i in k} c_i x_i)^p
//   log y additionally has the sum of effects
//
// An additive roofline has this form with p = 1: its terms are times, its
// factors are efficiencies. With a larger p the longest time hides more of the
// shorter ones. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace penstock {

// Prior of a coefficient: normal around mean.
struct Coefficient {
  std::string name;
  int term;
  double mean;
  double sd;
  std::vector<std::string> facts = {};  // whose product is x_i
};

// Prior of the effects of all levels of a kind ("gpu:T4"): normal, mean 0.
struct EffectKind {
  const char* name;
  double sd;
};

struct LogSumForm {
  std::vector<Coefficient> coefficients;
  std::vector<EffectKind> effects;
  int terms = 0;
  double power = 1;  // p, > 0

  // sd of the level's kind; 0 if the form lacks the kind.
  double effect_sd(const std::string& level) const;
};

struct LogSumInput {
  std::vector<double> bases;         // log of each term, with all factors 1
  std::vector<double> features;      // x_i, one per coefficient
  std::vector<std::string> effects;  // levels that apply, "KIND:NAME"
};

struct LogSumParameters {
  std::vector<double> coefficients;
  std::map<std::string, double> effects;  // by level; a missing one is 0
};

// Logarithms of the terms, including the effects.
// REQUIRES: sizes match the form.
std::vector<double> log_terms(const LogSumForm& form, const LogSumInput& input,
                              const LogSumParameters& parameters);

// log y from the logarithms of its terms.
double log_sum(const LogSumForm& form, const std::vector<double>& terms);

}  // namespace penstock
