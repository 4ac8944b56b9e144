#include "predictor/log_sum.h"

#include <algorithm>
#include <cmath>

namespace penstock {

double LogSumForm::effect_sd(const std::string& level) const {
  const std::string kind = level.substr(0, level.find(':'));
  for (const EffectKind& it : effects) {
    if (kind == it.name) return it.sd;
  }
  return 0;
}

std::vector<double> log_terms(const LogSumForm& form, const LogSumInput& input,
                              const LogSumParameters& parameters) {
  double effects = 0;
  for (const std::string& level : input.effects) {
    const auto found = parameters.effects.find(level);
    if (found != parameters.effects.end()) effects += found->second;
  }
  std::vector<double> terms = input.bases;
  for (double& term : terms) term += effects;
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    terms[form.coefficients[i].term] +=
        parameters.coefficients[i] * input.features[i];
  }
  return terms;
}

double log_sum(const LogSumForm& form, const std::vector<double>& terms) {
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (double term : terms) sum += std::exp(form.power * (term - most));
  return most + std::log(sum) / form.power;
}

}  // namespace penstock
