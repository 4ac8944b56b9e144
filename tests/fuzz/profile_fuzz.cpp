// Profiles in TOML and JSON: whatever is accepted reads back from its own text,
// and gives a prediction whose figures are finite and in order.
#include "predictor/predictor.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

void check_figure(const Figure& figure) {
  FUZZ_CHECK(figure.low >= 0);
  FUZZ_CHECK(figure.low <= figure.value);
  FUZZ_CHECK(figure.value <= figure.high);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto profile = parse_profile(as_text(data, size), "f");
  if (!profile) {
    FUZZ_CHECK(profile.error().message.starts_with("f:"));
    return 0;
  }
  const std::string text = profile_text(*profile);
  const auto again = parse_profile(text, "f");
  FUZZ_CHECK(again.ok() && profile_text(*again) == text);
  if (profile->job.gpu.empty()) profile->job.gpu = "T4";  // the node's
  const auto prediction = predict(*profile);
  FUZZ_CHECK(prediction.ok());
  FUZZ_CHECK(prediction->ceiling_samples_per_s.known());
  check_figure(prediction->ceiling_samples_per_s);
  check_figure(prediction->loader_cpu_s_per_sample);
  check_figure(prediction->storage_bytes_per_sample);
  check_figure(prediction->demand_cores);
  check_figure(prediction->demand_bytes_per_s);
  return 0;
}
