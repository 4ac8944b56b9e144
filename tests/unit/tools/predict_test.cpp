// `penstock predict` on the command line: described jobs, tables, lists.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fake_agent.h"
#include "tests/unit/catch.h"
#include "tools/penstock/command_line.h"

namespace penstock {
namespace {

struct Ran {
  explicit Ran(std::vector<std::string> words) {
    words.insert(words.begin(), {"penstock", "predict"});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out_stream, error_stream;
    Terminal terminal{out_stream};
    code = run_command_line(static_cast<int>(argv.size()), argv.data(),
                            terminal, error_stream);
    out = out_stream.str();
    errors = error_stream.str();
  }

  nlohmann::json json() const {
    INFO(errors);
    REQUIRE(code == kExitOk);
    return nlohmann::json::parse(out);
  }

  int code = -1;
  std::string out, errors;
};

const std::string kSample =
    std::string(PENSTOCK_SOURCE) + "/tests/fixtures/predict/timm_sample.csv";

std::vector<std::string> resnet50(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"--model", "resnet50",    "--gpu",
                                    "RTX3090", "--batch",     "128",
                                    "--json",  "--precision", "AMP"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

double ceiling(const Ran& ran) {
  return ran.json()["ceiling_samples_per_s"]["value"];
}

TEST_CASE("a described job has ceiling, cores and bandwidth with intervals") {
  const Ran ran(
      resnet50({"--bytes-per-sample", "110K", "--cpu-class", "jpeg"}));
  const auto json = ran.json();
  for (const char* figure :
       {"ceiling_samples_per_s", "demand_cores", "demand_bytes_per_s"}) {
    INFO(figure);
    const double value = json[figure]["value"];
    CHECK(value > 0);
    CHECK(json[figure]["low"] < value);
    CHECK(json[figure]["high"] > value);
  }
  CHECK(json["basis"] == "arrival, given/known");
  CHECK(json["ranks"] == 1);
  // An RTX 3090 trains ResNet-50 with AMP at 700 to 1200 images/s.
  CHECK(json["ceiling_samples_per_s"]["low"] < 1000);
  CHECK(json["ceiling_samples_per_s"]["high"] > 900);
  const Ran bare(resnet50());
  CHECK(bare.json()["demand_cores"].is_null());
}

TEST_CASE("each option of a described job changes the ceiling") {
  const double base = ceiling(Ran(resnet50()));
  CHECK(ceiling(Ran(resnet50({"--gpus", "4"}))) < base);
  CHECK(ceiling(Ran(resnet50({"--gpus", "4", "--nodes", "2"}))) < base);
  CHECK(ceiling(Ran(resnet50({"--gflops", "80"}))) < base);
  CHECK(ceiling(Ran(resnet50({"--activations", "100"}))) < base);
  CHECK(ceiling(Ran(resnet50(
            {"--peak-tflops", "1000", "--memory-bandwidth", "8000"}))) > base);
  CHECK(ceiling(Ran({"--model", "resnet50", "--gpu", "T4", "--json"})) < base);
  const Ran text(
      {"--model", "resnet50", "--gpu", "a100", "--gpus", "8", "--cores", "4"});
  CHECK(text.out.find("all 8 ranks") != std::string::npos);
  CHECK(text.out.find("unknown: the costs of a sample") != std::string::npos);
}

TEST_CASE("measured points dominate the prediction") {
  const Ran ran(resnet50({"--measured", "64:100", "--measured", "256:110"}));
  const auto json = ran.json();
  CHECK(json["ceiling_samples_per_s"]["value"] > 95);
  CHECK(json["ceiling_samples_per_s"]["value"] < 112);
  CHECK(json["ceiling_samples_per_s"]["high"].get<double>() /
            json["ceiling_samples_per_s"]["low"].get<double>() <
        1.5);
  CHECK(json["basis"] == "arrival, given/known, 2 measured");
}

TEST_CASE("invalid requests are refused with the option's name") {
  struct Row {
    std::vector<std::string> words;
    int code;
    const char* message;
  };
  const Row rows[] = {
      {{}, kExitUsage, "predict needs a PROFILE, --model NAME"},
      {{"--model", "resnet50"}, kExitUsage, "--model: needs --gpu TYPE"},
      {resnet50({"--nodes", "2"}), kExitUsage,
       "--nodes: must not be more than --gpus"},
      {resnet50({"--gpus", "0"}), kExitUsage, "--gpus"},
      {resnet50({"--framework", "lisp"}), kExitUsage, "--framework"},
      {resnet50({"--cpu-class", "jpeg"}), kExitUsage,
       "--cpu-class: needs --bytes-per-sample"},
      {resnet50({"--cpu-class", "x", "--bytes-per-sample", "1K"}), kExitNoData,
       "--cpu-class: unknown class; allowed: raw, jpeg"},
      {resnet50({"--bytes-per-sample", "much"}), kExitUsage,
       "--bytes-per-sample"},
      {resnet50({"--interconnect", "fast"}), kExitUsage, "--interconnect"},
      {resnet50({"--peak-tflops", "10"}), kExitUsage,
       "--peak-tflops and --memory-bandwidth go together"},
      {resnet50({"--measured", "64"}), kExitUsage,
       "--measured: \"64\" must be BATCH:RATE, such as 256:1200"},
      {resnet50({"--measured", "x:1"}), kExitUsage, "--measured: the batch"},
      {resnet50({"--measured", "1:0"}), kExitUsage, "--measured: the rate"},
      {resnet50({"--parameters", "/nowhere"}), kExitNoData, "/nowhere"},
      {resnet50({"--parameters", kSample}), kExitUsage,
       "column \"part\" is missing"},
      {{"--model", "m", "--gpu", "T4", "--precision", "fast"},
       kExitUsage,
       "--precision: \"fast\" is not a precision"},
      {{"--calibrate", "/nowhere"}, kExitNoData, "/nowhere"},
      {{"--evaluate", "/nowhere"}, kExitNoData, "/nowhere"},
      {{"--evaluate", kSample, "--json"},
       kExitUsage,
       "--json: with --evaluate"},
  };
  for (const Row& row : rows) {
    const Ran ran(row.words);
    INFO(row.message << " not in " << ran.errors);
    CHECK(ran.code == row.code);
    CHECK(ran.errors.find(row.message) != std::string::npos);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("--json before a profile's name prints that profile") {
  const Ran ran({"--json", "alexnet"});
  CHECK(ran.json()["basis"] == "profile alexnet");
}

TEST_CASE("--list-models and --list-gpus print the known names") {
  const Ran models({"--list-models"});
  CHECK(models.code == kExitOk);
  CHECK(models.out.find("\nresnet50 ") != std::string::npos);
  CHECK(std::count(models.out.begin(), models.out.end(), '\n') > 60);
  const Ran gpus({"--list-gpus"});
  CHECK(gpus.out.find("\nA100-SXM-80GB ") != std::string::npos);
}

// The limits are for the committed table of 349 rows, and wider than the
// figures of the whole table in docs/benchmarks.md.
TEST_CASE(
    "calibration and evaluation reach their figures on the committed sample") {
  ScratchDirectory directory;
  const std::string figures = directory.file("figures.json");
  const Ran evaluated({"--evaluate", kSample, "--json", figures});
  INFO(evaluated.errors);
  REQUIRE(evaluated.code == kExitOk);
  CHECK(evaluated.out.find("family") != std::string::npos);
  std::ifstream file(figures);
  const auto json = nlohmann::json::parse(file);
  CHECK(json["bench"] == "predict");
  const auto value = [&](const std::string& name) {
    for (const auto& figure : json["figures"]) {
      if (figure["name"] == name) {
        CHECK(figure["runs"] == 349);
        return figure["value"].get<double>();
      }
    }
    FAIL("no figure " + name);
    return 0.0;
  };
  CHECK(value("family_median") <= 0.18);
  CHECK(value("family_p90") <= 0.50);
  CHECK(value("family_coverage") >= 0.85);
  CHECK(value("family_coverage") <= 0.95);
  CHECK(value("family_width") <= 3);

  const std::string parameters = directory.file("parameters.csv");
  const Ran learned({"--calibrate", kSample, "--output", parameters});
  REQUIRE(learned.code == kExitOk);
  CHECK(ceiling(Ran(
            resnet50({"--parameters", parameters, "--layout", "nhwc"}))) > 0);
  const Ran printed({"--calibrate", kSample});
  std::ifstream written(parameters);
  std::ostringstream text;
  text << written.rdbuf();
  CHECK(printed.out == text.str());

  // Rows of the calibration are of known kind.
  const Ran again({"--calibrate", kSample, "--evaluate", kSample});
  REQUIRE(again.code == kExitOk);
  CHECK(again.out.find("known") != std::string::npos);
  CHECK(again.out.find("family") == std::string::npos);
}

}  // namespace
}  // namespace penstock
