// Pages are written by jobs: whatever they say, every figure that comes of it
// is in order, and those that are known are finite.
#include <cstring>

#include "predictor/predictor.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

void check_figure(const Figure& figure) {
  FUZZ_CHECK(std::isfinite(figure.value));
  FUZZ_CHECK(figure.low >= 0);
  FUZZ_CHECK(figure.low <= figure.value);
  FUZZ_CHECK(figure.value <= figure.high);
}

// A counter of small whole numbers, or any bit pattern at all.
double take_field(const uint8_t*& data, size_t& size) {
  if (size < 9) {
    size = 0;
    return 0;
  }
  double field = data[1];
  if (data[0] == 0xff) std::memcpy(&field, data + 1, sizeof field);
  const size_t used = data[0] == 0xff ? 9 : 2;
  data += used;
  size -= used;
  return field;
}

void check_prediction(const Prediction& p) {
  check_figure(p.ceiling_samples_per_s);
  check_figure(p.loader_cpu_s_per_sample);
  check_figure(p.storage_bytes_per_sample);
  check_figure(p.demand_cores);
  check_figure(p.demand_bytes_per_s);
  FUZZ_CHECK(std::isfinite(p.trainer_reserve_cores));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Corrector correctors[2];
  while (size > 0) {
    const uint8_t kind = *data++;
    --size;
    Observation o;
    for (double* field :
         {&o.seconds, &o.samples, &o.wait_s, &o.sampled_s, &o.prepared,
          &o.bytes, &o.cached_bytes, &o.loader_cpu_s, &o.trainer_cpu_s})
      *field = take_field(data, size);
    o.replaying = (kind & 1) != 0;
    o.sharing = (kind & 2) != 0;
    o.ended_s = kind;
    correctors[kind >> 7].add(o);
  }
  const Corrector& corrector = correctors[0];
  const MeasuredCosts costs =
      Corrector::costs_of({{&correctors[0], &correctors[1]}});
  check_prediction(corrector.corrected(std::nullopt));
  check_prediction(corrector.corrected(std::nullopt, costs));
  FUZZ_CHECK(std::isfinite(corrector.observed_s()));
  return 0;
}
