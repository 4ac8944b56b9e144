#include "predictor/measured_rows.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

const std::string kHeader =
    "source,model,family,task,gpu,gpus,nodes,precision,batch_per_gpu,"
    "image_size,params_m,fwd_gflops_per_sample,activations_m,"
    "samples_per_s_total,note\n";

std::string row(const std::string& gpus = "2", const std::string& nodes = "1",
                const std::string& precision = "AMP",
                const std::string& batch = "64",
                const std::string& rate = "800",
                const std::string& note = "unit=images/s; PyTorch") {
  return "s:1,resnet50,resnet,image_classification,T4," + gpus + "," + nodes +
         "," + precision + "," + batch + ",224,25.56,8.22,11.11," + rate + "," +
         note + "\n";
}

std::string refused(const std::string& text) {
  const auto rows = parse_measured_rows(text, "m.csv");
  INFO(text);
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == Code::kInvalidArgument);
  return rows.error().message;
}

TEST_CASE("every column of a row is read") {
  const auto rows = parse_measured_rows(kHeader + row(), "m.csv");
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  const MeasuredRow& it = rows->front();
  CHECK(it.job.model == "resnet50");
  CHECK(it.job.family == "resnet");
  CHECK(it.job.task == "image_classification");
  CHECK(it.job.unit == "images");
  CHECK(it.job.gpu == "T4");
  CHECK(it.job.gpus == 2);
  CHECK(it.job.nodes == 1);
  CHECK(it.job.precision == Precision::kHalf);
  CHECK(it.job.batch_per_gpu == 64);
  CHECK(it.job.params_m == 25.56);
  CHECK(it.job.fwd_gflops_per_sample == 8.22);
  CHECK(it.job.activations_m == 11.11);
  CHECK(it.samples_per_s == 800);
}

TEST_CASE("empty numbers get their defaults") {
  const auto rows =
      parse_measured_rows(kHeader + "s,m,f,t,T4,,,,,,,,,5,\n", "m.csv");
  REQUIRE(rows);
  const JobFeatures& job = rows->front().job;
  CHECK(job.gpus == 1);
  CHECK(job.nodes == 1);
  CHECK(job.precision == Precision::kFp32);
  CHECK(job.batch_per_gpu == 0);
  CHECK(job.fwd_gflops_per_sample == 0);
}

TEST_CASE("errors name line and column") {
  CHECK(refused(kHeader) == "m.csv: no rows");
  CHECK(refused("source,model\n") == "m.csv: column \"family\" is missing");
  CHECK(refused(kHeader + row("0")) ==
        "m.csv:2: gpus: \"0\" must be 1 to 1e+06");
  CHECK(refused(kHeader + row("1.5")) ==
        "m.csv:2: gpus and nodes must be whole numbers");
  CHECK(refused(kHeader + row("2", "3")) ==
        "m.csv:2: nodes: must not be more than gpus");
  CHECK(
      refused(kHeader + row("2", "1", "quick")) ==
      "m.csv:2: precision: \"quick\" is not a precision; allowed: FP32, TF32, "
      "AMP, BF16, FP16, FP8");
  CHECK(refused(kHeader + row() + row("2", "1", "AMP", "-1")) ==
        "m.csv:3: batch_per_gpu: \"-1\" must be 0 to 1e+09");
  CHECK(refused(kHeader + row("2", "1", "AMP", "64", "")) ==
        "m.csv:2: samples_per_s_total: empty");
  CHECK_THAT(
      refused(kHeader + row("2", "1", "AMP", "64", "0")),
      Catch::Matchers::ContainsSubstring("samples_per_s_total: \"0\" must be"));
  CHECK(refused(kHeader + "s,,f,t,T4,,,,,,,,,5,\n") == "m.csv:2: model: empty");
  CHECK(refused(kHeader + "s,m,f,t,,,,,,,,,,5,\n") == "m.csv:2: gpu: empty");
}

TEST_CASE("rows of one job have equal keys but for batch or scale") {
  const auto rows = parse_measured_rows(
      kHeader +
          row("2", "1", "AMP", "64", "800", "step_time=0.1s sync_time=0.2s") +
          row("2", "1", "AMP", "32", "500", "step_time=0.3s") +
          row("4", "2", "AMP", "32", "900", "placement=22") +
          row("2", "1", "FP32", "32", "300", ""),
      "m.csv");
  REQUIRE(rows);
  const auto& it = *rows;
  CHECK(it[0].same_but_batch == it[1].same_but_batch);
  CHECK(it[1].same_but_batch != it[2].same_but_batch);
  CHECK(it[1].same_but_scale == it[2].same_but_scale);
  CHECK(it[2].same_but_scale != it[3].same_but_scale);
}

TEST_CASE("a row's note determines its software") {
  CHECK(software_of_note("unit=images/s").key() == "pytorch");
  CHECK(software_of_note("TensorFlow2; XLA").key() == "tensorflow+compiled");
  CHECK(software_of_note("tf_cnn_benchmarks synthetic; XLA=1; x").key() ==
        "tensorflow+compiled+synthetic");
  CHECK(software_of_note("tf_cnn_benchmarks; XLA=0").key() == "tensorflow");
  CHECK(software_of_note("TensorFlow2; XLA=OFF").key() == "tensorflow");
  CHECK(software_of_note("MxNet").key() == "mxnet");
  CHECK(software_of_note("PaddlePaddle").key() == "paddle");
  CHECK(software_of_note("layout=nhwc; synthetic GPU-resident data").key() ==
        "pytorch+nhwc+synthetic");
  CHECK(software_of_note("layout=nchw; NGC 22.09").key() ==
        "pytorch+nchw+container");
  CHECK(software_of_note("nn.DataParallel; no optimizer step").key() ==
        "pytorch+no_optimizer+data_parallel");
  CHECK(software_of_note("real data; fwd+bwd only").key() ==
        "pytorch+real_data+no_optimizer");
}

}  // namespace
}  // namespace penstock
