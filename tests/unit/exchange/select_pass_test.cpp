#include "exchange/select/select_pass.h"

#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Picked {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<float> residual;
  size_t candidates = 0;
  bool is_finite = true;
};

// The header's definition, element by element.
Picked expected(const std::vector<float>& gradient, std::vector<float> residual,
                float threshold, uint32_t first, size_t room) {
  Picked out;
  for (size_t i = 0; i < residual.size(); ++i) {
    float& left = residual[i];
    left += gradient.empty() ? 0 : gradient[i];
    out.is_finite = out.is_finite && std::isfinite(left);
    if (std::fabs(left) < threshold) continue;
    ++out.candidates;
    if (out.indices.size() == room) continue;
    out.indices.push_back(first + uint32_t(i));
    out.values.push_back(left);
    left = 0;
  }
  out.residual = std::move(residual);
  return out;
}

// Checks that nothing is written beyond the room.
Picked picked(const std::vector<float>& gradient, std::vector<float> residual,
              float threshold, uint32_t first, size_t room) {
  Picked out;
  out.indices.assign(room + 64, 77);
  out.values.assign(room + 64, 77);
  const SelectPass found = accumulate_and_select(
      gradient, residual, threshold, first,
      {std::span(out.indices).first(room), std::span(out.values).first(room)});
  for (size_t i = room; i < room + 64; ++i) {
    REQUIRE(out.indices[i] == 77);
    REQUIRE(out.values[i] == 77);
  }
  REQUIRE(found.taken <= room);
  out.indices.resize(found.taken);
  out.values.resize(found.taken);
  out.residual = std::move(residual);
  out.candidates = found.candidates;
  out.is_finite = found.is_finite;
  return out;
}

// Compares with NaN equal to NaN.
bool are_same(const std::vector<float>& one, const std::vector<float>& other) {
  return one.size() == other.size() &&
         std::equal(one.begin(), one.end(), other.begin(),
                    [](float a, float b) {
                      return a == b || (std::isnan(a) && std::isnan(b));
                    });
}

void check_same(const Picked& one, const Picked& other) {
  CHECK(one.indices == other.indices);
  CHECK(are_same(one.values, other.values));
  CHECK(are_same(one.residual, other.residual));
  CHECK(one.candidates == other.candidates);
  CHECK(one.is_finite == other.is_finite);
}

// Runs with each vector extension of this CPU, and with none.
template <class Function>
void with_each_target(const Function& function) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    CAPTURE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    function();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

TEST_CASE("large elements are selected, and none is lost") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  with_each_target([&] {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int run = 0; run < 200; ++run) {
      const size_t n = std::uniform_int_distribution<size_t>(0, 300)(random);
      const size_t room = std::uniform_int_distribution<size_t>(0, n)(random);
      const float threshold =
          std::uniform_real_distribution<float>(0.01f, 3)(random);
      CAPTURE(run, n, room, threshold);
      std::vector<float> gradient(n), residual(n);
      for (float& value : gradient) value = normal(random);
      for (float& value : residual) value = normal(random);
      if (run % 4 == 0) gradient.clear();
      check_same(picked(gradient, residual, threshold, 1000, room),
                 expected(gradient, residual, threshold, 1000, room));
    }
  });
}

TEST_CASE("elements at the threshold are candidates, zeros are not") {
  with_each_target([] {
    const std::vector<float> sums(40, -2.0f);
    CHECK(picked({}, sums, 2, 0, 40).indices.size() == 40);
    CHECK(picked({}, sums, std::nextafter(2.0f, 3.0f), 0, 40).candidates == 0);
    const std::vector<float> zeros(40, 0.0f);
    const float least = std::numeric_limits<float>::denorm_min();
    CHECK(picked({}, zeros, least, 0, 40).candidates == 0);
    CHECK(picked({}, std::vector<float>(40, least), least, 0, 40).candidates ==
          40);
  });
}

TEST_CASE("NaN and infinity are reported at any position") {
  with_each_target([] {
    for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
      for (const size_t at : {0, 7, 15, 16, 31, 36}) {
        for (const size_t room : {37, 3, 0}) {
          CAPTURE(bad, at, room);
          std::vector<float> gradient(37, 0.5f);
          gradient[at] = bad;
          const std::vector<float> residual(37, 0.25f);
          const Picked found = picked(gradient, residual, 1, 5, room);
          CHECK_FALSE(found.is_finite);
          check_same(found, expected(gradient, residual, 1, 5, room));
        }
      }
    }
  });
}

TEST_CASE("indices beyond 2^24 are exact") {
  with_each_target([] {
    const uint32_t first = (1u << 24) + 1;
    const Picked found = picked({}, std::vector<float>(35, 1), 1, first, 35);
    for (uint32_t i = 0; i < 35; ++i) CHECK(found.indices[i] == first + i);
    const uint32_t last = UINT32_MAX - 34;
    CHECK(picked({}, std::vector<float>(35, 1), 1, last, 35).indices.back() ==
          UINT32_MAX);
  });
}
