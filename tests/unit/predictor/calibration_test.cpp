#include "predictor/calibration.h"

#include "predictor/arrival_parameters.h"
#include "tests/unit/predictor/measured_sample.h"

namespace penstock {
namespace {

void no_progress(size_t, size_t) {}

TEST_CASE("the rate of one GPU comes from rows that differ in scale only") {
  std::vector<MeasuredRow> rows = {
      made_row("a", 8, 1, 0.01, 0.002), made_row("a", 8, 4, 0.01, 0.002),
      made_row("a", 16, 4, 0.01, 0.002), made_row("b", 8, 4, 0.01, 0.002),
      made_row("a", 8, 1, 0.01, 0.002)};
  rows[4].samples_per_s *= 3;
  const std::vector<double> known = known_one_gpu_rates(rows);
  CHECK(known[0] == 0);  // the row of one GPU itself
  CHECK(known[1] == Approx(2 * rows[0].samples_per_s));  // the median of two
  CHECK(known[2] == 0);                                  // another batch
  CHECK(known[3] == 0);                                  // another job
}

TEST_CASE("the 90% interval is widened by a small margin") {
  std::vector<double> errors;
  for (int i = 100; i >= 0; --i) errors.push_back(i);
  CHECK(ninety_percent(errors).low == Approx(4));
  CHECK(ninety_percent(errors).high == Approx(96));
}

TEST_CASE("synthetic rows are predicted with each family left out") {
  size_t done = 0, total = 0;
  const Calibration it = calibrate(made_rows(), [&](size_t d, size_t t) {
    CHECK(d == done + 1);
    done = d;
    total = t;
  });
  CHECK(done == total);
  REQUIRE(it.by_family.rows.size() == 24);
  for (double error : it.by_family.errors) CHECK(std::abs(error) < 0.3);
  for (double error : it.one_node.errors) CHECK(std::abs(error) < 0.15);
  CHECK(it.many_nodes.rows.empty());
  CHECK(it.by_family.parameters.size() == 6);
  CHECK(it.parameters.intervals.contains("given/new_family"));
  CHECK(it.parameters.intervals.contains("one_node"));
  CHECK_FALSE(it.parameters.intervals.contains("many_nodes"));
  CHECK(costs_given(made_rows()[0]));
}

TEST_CASE("the source of a row does not change the parameters") {
  std::string text =
      text_of_file(std::string(PENSTOCK_FIXTURES) + "/timm_sample.csv");
  const auto rows = parse_measured_rows(text, "sample");
  REQUIRE(rows);
  size_t at = 0;
  while ((at = text.find("\ntimm:", at)) != text.npos) {
    text.replace(at, 6, "\nother:");
  }
  const auto renamed = parse_measured_rows(text, "sample");
  REQUIRE(renamed);
  CHECK(renamed->front().same_but_batch != rows->front().same_but_batch);
  CHECK(write_parameters(calibrate(*renamed, no_progress).parameters) ==
        write_parameters(calibrate(*rows, no_progress).parameters));
}

// PENSTOCK_UPDATE_GOLDEN=1 rewrites the file.
TEST_CASE("calibrating the sample gives the committed parameters") {
  const std::string folder = PENSTOCK_FIXTURES;
  const auto rows =
      parse_measured_rows(text_of_file(folder + "/timm_sample.csv"), "sample");
  REQUIRE(rows);
  const std::string text =
      write_parameters(calibrate(*rows, no_progress).parameters);
  const std::string golden = folder + "/timm_sample_parameters.csv";
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN")) std::ofstream(golden) << text;
  CHECK(text == text_of_file(golden));
}

}  // namespace
}  // namespace penstock
