// Profiles in TOML and JSON: whatever is accepted reads back from its own text,
// gives a prediction whose figures are finite and in order, and where it holds
// costs rates with other amounts, and ceilings at other densities.
#include <cmath>

#include "predictor/predictor.h"
#include "predictor/what_if.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

void check_figure(const Figure& figure) {
  FUZZ_CHECK(figure.low >= 0);
  FUZZ_CHECK(figure.low <= figure.value);
  FUZZ_CHECK(figure.value <= figure.high);
}

void check_enough(const Enough& enough) {
  FUZZ_CHECK(std::isfinite(enough.amount) && enough.amount >= 0);
  FUZZ_CHECK((enough.kind == Enough::Kind::kAmount) == enough.why.empty());
}

void check_density(WhatIf model) {
  const GradientExchange exchange{
      .parameters = 1'000'000,
      .batch = 8,
      .ranks = 4,
      .costs = {.message_s = 1e-5, .byte_s = 1e-9, .select_s = 1e-9}};
  if (!model.set_exchange(exchange)) return;
  check_enough(model.most_density(model.present()));
  Amounts sparse = model.present();
  sparse.density = 0.01;
  const WhatIfPoint at = model.at(sparse);
  check_figure(at.samples_per_s);
  FUZZ_CHECK(at.step && at.step->stall_s() >= 0);
  FUZZ_CHECK(at.samples_per_s.value <= at.ceiling_samples_per_s);
}

void check_what_if(const Profile& profile) {
  const auto model = WhatIf::from(profile);
  FUZZ_CHECK(model.ok());
  const Amounts& present = model->present();
  const WhatIfPoint at = model->at(present);
  check_figure(at.samples_per_s);
  FUZZ_CHECK(at.samples_per_s.value <= at.ceiling_samples_per_s);
  check_enough(model->enough_cores(present));
  check_enough(model->enough_cache(present));
  check_enough(model->enough_bandwidth(present));
  check_density(*model);
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
  if (!profile->describes_job()) check_what_if(*profile);
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
