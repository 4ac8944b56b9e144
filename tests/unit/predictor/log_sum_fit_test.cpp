#include "predictor/log_sum_fit.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

LogSumForm form_of_two() {
  LogSumForm form;
  form.coefficients = {{"compute", 0, 0, 2}, {"memory", 1, 0, 2}};
  form.effects = {{"gpu", 1}};
  form.terms = 2;
  return form;
}

// exp(0.7) x compute + exp(-0.4) x memory, times 1.3 on one of two GPUs.
std::vector<LogSumRow> made_rows(double noise_sd, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> base(-3, 3);
  std::normal_distribution<double> noise(0, noise_sd);
  std::vector<LogSumRow> rows;
  for (int i = 0; i < 400; ++i) {
    LogSumRow row;
    row.input.bases = {base(random), base(random)};
    row.input.features = {1, 1};
    row.input.effects = {i % 2 ? "gpu:fast" : "gpu:slow"};
    row.log_y = std::log(std::exp(row.input.bases[0] + 0.7) +
                         std::exp(row.input.bases[1] - 0.4)) +
                (i % 2 ? -0.1 : 0.1) + noise(random);
    row.noise_sd = noise_sd;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<bool> all_of(const std::vector<LogSumRow>& rows) {
  return std::vector<bool>(rows.size(), true);
}

TEST_CASE("the fit recovers factors of terms and effects of levels") {
  const LogSumForm form = form_of_two();
  const auto rows = made_rows(0.05, 1);
  const LogSumParameters found = LogSumFit(form, rows).fit(all_of(rows));
  CHECK(found.coefficients[0] == Approx(0.7).margin(0.03));
  CHECK(found.coefficients[1] == Approx(-0.4).margin(0.03));
  CHECK(found.effects.at("gpu:slow") - found.effects.at("gpu:fast") ==
        Approx(0.2).margin(0.02));
}

TEST_CASE("without rows the fit returns the prior") {
  LogSumForm form = form_of_two();
  form.coefficients[0].mean = 0.25;
  const auto rows = made_rows(0.05, 2);
  const LogSumFit fit(form, rows);
  const LogSumParameters found = fit.fit(std::vector<bool>(rows.size(), false));
  CHECK(found.coefficients == std::vector<double>{0.25, 0});
  CHECK(found.effects.at("gpu:slow") == 0);
}

TEST_CASE("the start of a fit does not change its result") {
  const LogSumForm form = form_of_two();
  const auto rows = made_rows(0.1, 3);
  const LogSumFit fit(form, rows);
  LogSumParameters far;
  far.coefficients = {3, -3};
  const LogSumParameters one = fit.fit(all_of(rows));
  const LogSumParameters other = fit.fit(all_of(rows), &far);
  for (size_t i = 0; i < one.coefficients.size(); ++i) {
    CHECK(one.coefficients[i] == Approx(other.coefficients[i]).margin(3e-4));
  }
}

TEST_CASE("outliers hardly change the fit") {
  const LogSumForm form = form_of_two();
  auto rows = made_rows(0.05, 4);
  for (size_t i = 0; i < rows.size(); i += 40) rows[i].log_y += 5;
  const LogSumParameters found = LogSumFit(form, rows).fit(all_of(rows));
  CHECK(found.coefficients[0] == Approx(0.7).margin(0.06));
  CHECK(found.coefficients[1] == Approx(-0.4).margin(0.06));
}

// 100 rows of one slow model must not count as 100 independent measurements of
// a slow term.
TEST_CASE("a deviation common to a group becomes the group's effect") {
  const LogSumForm form = form_of_two();
  auto rows = made_rows(0.05, 5);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].group = i < 100 ? "model:odd" : "model:" + std::to_string(i / 50);
    rows[i].group_sd = 0.3;
    if (i < 100) rows[i].log_y += 0.5;
  }
  const LogSumParameters found = LogSumFit(form, rows).fit(all_of(rows));
  CHECK(found.coefficients[0] == Approx(0.7).margin(0.15));
  const auto group = [&](int i) {
    return found.effects.at("model:" + std::to_string(i));
  };
  CHECK(found.effects.at("model:odd") - group(5) == Approx(0.5).margin(0.05));

  for (LogSumRow& row : rows) row.group.clear();
  const LogSumParameters without = LogSumFit(form, rows).fit(all_of(rows));
  CHECK(without.effects.count("model:odd") == 0);
}

}  // namespace
}  // namespace penstock
