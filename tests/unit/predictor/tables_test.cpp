#include "predictor/gpu_table.h"
#include "predictor/model_table.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("at least 60 models have their costs and a source") {
  int complete = 0;
  for (const ModelCosts& it : model_table()) {
    INFO(it.name);
    CHECK_FALSE(it.family.empty());
    CHECK_FALSE(it.task.empty());
    CHECK_FALSE(it.unit.empty());
    CHECK_FALSE(it.source.empty());
    CHECK(it.params_m > 0);
    CHECK(it.fwd_gflops_per_sample > 0);
    if (it.activations_m > 0) ++complete;
    CHECK(find_model(it.name) == &it);
    for (const std::string& alias : it.aliases) {
      INFO(alias);
      CHECK(find_model(alias) == &it);
    }
  }
  CHECK(complete >= 60);
}

TEST_CASE("models are found in any spelling") {
  REQUIRE(find_model("resnet50"));
  CHECK(find_model("ResNet-50") == find_model("resnet50"));
  CHECK(find_model("resnet50")->fwd_gflops_per_sample == 8.22);
  CHECK(find_model("resnet50x") == nullptr);
  CHECK(find_model("") == nullptr);
}

TEST_CASE("GPU types are complete and found in any spelling") {
  CHECK(gpu_types().size() >= 40);
  for (const GpuType& it : gpu_types()) {
    INFO(it.name);
    CHECK(it.fp32_tflops > 0);
    CHECK(it.memory_gbs > 0);
    CHECK_FALSE(it.architecture.empty());
    CHECK_FALSE(it.source.empty());
    CHECK(find_gpu(it.name).type.name == it.name);
  }
  CHECK(find_gpu("a100-sxm-80gb").known);
  CHECK(find_gpu("a100").type.name == "A100-SXM-40GB");
  CHECK(find_gpu("A10").type.name == "A10");
  CHECK(find_gpu("h100-pcie").type.name == "H100-PCIe-80GB");
}

TEST_CASE("an unknown GPU type gets median values") {
  for (const char* name : {"X1", "", "A", "A1"}) {
    const GpuLookup found = find_gpu(name);
    INFO(name);
    CHECK_FALSE(found.known);
    CHECK(found.type.name == name);
    CHECK(found.type.fp32_tflops > 4);
    CHECK(found.type.fp32_tflops < 91);
  }
}

TEST_CASE("each precision has its peak") {
  const GpuType a100 = find_gpu("A100").type;
  CHECK(a100.peak_tflops(Precision::kFp32) == 19.5);
  CHECK(a100.peak_tflops(Precision::kTf32) == 156);
  CHECK(a100.peak_tflops(Precision::kHalf) == 312);
  CHECK(a100.tensor_units(Precision::kHalf));
  CHECK_FALSE(a100.tensor_units(Precision::kFp32));
  const GpuType pascal = find_gpu("GTX1080Ti").type;
  CHECK(pascal.peak_tflops(Precision::kHalf) == pascal.fp32_tflops);
  CHECK(pascal.peak_tflops(Precision::kTf32) == pascal.fp32_tflops);
  CHECK_FALSE(pascal.tensor_units(Precision::kHalf));
  CHECK_FALSE(find_gpu("P100").type.tensor_units(Precision::kHalf));
}

}  // namespace
}  // namespace penstock
