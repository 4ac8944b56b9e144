#include "predictor/traits.h"

#include <set>

#include "predictor/csv_table.h"
#include "predictor/data.h"
#include "predictor/exchange.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("a model's name gives its operators, also for unlisted models") {
  CHECK(traits_of("resnet50")["depthwise"] == 0);
  CHECK(traits_of("resnet50")["grouped"] == 0);
  CHECK(traits_of("resnet50")["attention"] == 0);
  CHECK(traits_of("MobileNetV3_Large")["depthwise"] == 1);
  CHECK(traits_of("tf_efficientnet_b7_ns")["depthwise"] == 1);
  CHECK(traits_of("efficientnet_es")["depthwise"] < 1);
  CHECK(traits_of("resnext50_32x4d")["grouped"] == 1);
  CHECK(traits_of("ig_resnext101_32x48d")["grouped"] < 0.5);
  CHECK(traits_of("convnext_tiny")["grouped"] == 0);
  CHECK(traits_of("swin_base_patch4_window7_224")["attention"] == 1);
  CHECK(traits_of("bert-large")["attention"] == 1);
  CHECK(traits_of("GNMT")["recurrent"] == 1);
  CHECK(traits_of("NCF")["embedding"] == 1);
  CHECK(traits_of("vgg16")["no_norm"] == 1);
  CHECK(traits_of("vgg16_bn")["no_norm"] == 0);
  CHECK(traits_of("vgg16_bn")["plain_3x3"] == 1);
  CHECK(traits_of("densenet121")["concatenated"] == 1);
  CHECK(traits_of("nobody-s-own-net")["attention"] == 0);
}

// traits_of() ignores invalid rules, so the table is checked here.
TEST_CASE("every rule of the table of traits is valid") {
  const auto table = CsvTable::parse(data::kTraits, "traits.csv");
  REQUIRE(table);
  REQUIRE(table->require({"pattern", "trait", "value"}));
  CHECK(table->rows() > 100);
  const std::vector<std::string> known = {
      "depthwise", "grouped",   "attention",    "mlp",         "recurrent",
      "embedding", "squeeze",   "gate",         "slow_norm",   "standardised",
      "antialias", "windows",   "split",        "branches",    "concatenated",
      "no_norm",   "plain_3x3", "large_kernel", "wide_groups", "irregular",
      "layers"};
  for (size_t i = 0; i < table->rows(); ++i) {
    INFO(table->text(i, "pattern"));
    CHECK(std::count(known.begin(), known.end(), table->text(i, "trait")) == 1);
    CHECK(table->number(i, "value", 0, 10, -1).value_or(-1) >= 0);
    CHECK_FALSE(table->text(i, "pattern").empty());
  }
}

// features_of() takes an unknown fact as 0.
TEST_CASE("every fact of a coefficient is known") {
  const auto traits = CsvTable::parse(data::kTraits, "traits.csv");
  const auto table = CsvTable::parse(data::kCoefficients, "coefficients.csv");
  REQUIRE(traits);
  REQUIRE(table);
  REQUIRE(table->require({"form", "coefficient", "mean", "sd", "facts"}));
  CHECK(roofline_form().coefficients.size() +
            exchange_form().coefficients.size() ==
        table->rows());
  std::set<std::string> known = {
      "half",       "tensor",   "tf32",       "fp32",          "reduced",
      "nhwc",       "compiled", "tensorflow", "no_optimizer",  "no_activations",
      "log_layers", "nvlink",   "container",  "data_parallel", "log_doublings"};
  for (size_t i = 0; i < traits->rows(); ++i) {
    known.insert(traits->text(i, "trait"));
  }
  for (const LogSumForm& form : {roofline_form(), exchange_form()}) {
    for (const Coefficient& it : form.coefficients) {
      INFO(it.name);
      CHECK(it.sd > 0);
      for (const std::string& fact : it.facts) CHECK(known.contains(fact));
    }
  }
}

}  // namespace
}  // namespace penstock
