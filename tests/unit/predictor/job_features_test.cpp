#include "predictor/job_features.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("each label of a precision is parsed") {
  struct Row {
    const char* label;
    Precision precision;
  };
  const Row rows[] = {
      {"", Precision::kFp32},        {"FP32", Precision::kFp32},
      {"fp32", Precision::kFp32},    {"float", Precision::kFp32},
      {"TF32", Precision::kTf32},    {"FP32orTF32", Precision::kTf32},
      {"AMP", Precision::kHalf},     {"AMP_BF16", Precision::kHalf},
      {"fp16", Precision::kHalf},    {"bf16", Precision::kHalf},
      {"AMP_FP8", Precision::kHalf}, {"FP8", Precision::kHalf},
      {"mixed", Precision::kHalf}};
  for (const Row& row : rows) {
    INFO(row.label);
    const auto precision = parse_precision(row.label);
    REQUIRE(precision);
    CHECK(*precision == row.precision);
  }
  const auto refused = parse_precision("fast");
  REQUIRE_FALSE(refused);
  CHECK(
      refused.error().message ==
      "\"fast\" is not a precision; allowed: FP32, TF32, AMP, BF16, FP16, FP8");
}

TEST_CASE("the software's key names the values that are not defaults") {
  Software it;
  CHECK(it.key() == "pytorch");
  it.framework = "mxnet";
  it.layout = "nhwc";
  it.compiled = it.container = it.synthetic = it.real_data = it.no_optimizer =
      it.data_parallel = true;
  CHECK(it.key() ==
        "mxnet+nhwc+compiled+container+synthetic+real_data+no_optimizer+"
        "data_parallel");
}

}  // namespace
}  // namespace penstock
