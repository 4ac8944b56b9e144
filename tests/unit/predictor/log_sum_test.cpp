#include "predictor/log_sum.h"

#include <cmath>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("terms add up, and coefficients and effects multiply them") {
  LogSumForm form;
  form.coefficients = {{"a", 0, 0, 1}, {"b", 1, 0, 1}};
  form.effects = {{"gpu", 0.5}};
  form.terms = 2;
  LogSumInput input;
  input.bases = {std::log(2.0), std::log(3.0)};
  input.features = {1, 0.5};
  input.effects = {"gpu:T4", "gpu:none", "host:x"};
  LogSumParameters learned;
  learned.coefficients = {std::log(10.0), std::log(4.0)};
  learned.effects = {{"gpu:T4", std::log(1.5)}};
  const std::vector<double> terms = log_terms(form, input, learned);
  CHECK(std::exp(terms[0]) == Approx(2 * 10 * 1.5));
  CHECK(std::exp(terms[1]) == Approx(3 * 2 * 1.5));
  CHECK(std::exp(log_sum(form, terms)) == Approx(39));
  CHECK(log_sum(form, {-1000, 900, 900}) == Approx(900 + std::log(2.0)));
  form.power = 2;
  CHECK(log_sum(form, {std::log(3.0), std::log(4.0)}) == Approx(std::log(5.0)));
  CHECK(log_sum(form, {-1000, 900, 900}) == Approx(900 + std::log(2.0) / 2));
  CHECK(form.effect_sd("gpu:T4") == 0.5);
  CHECK(form.effect_sd("host:x") == 0);
  CHECK(form.effect_sd("gpus:T4") == 0);
}

}  // namespace
}  // namespace penstock
