#include "exchange/plan/fit_costs.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

constexpr ExchangeCosts kCosts{2e-5, 8e-9, 1e-9, 4e-10, 2e-8};
constexpr Method kMethods[] = {Method::kDense, Method::kAllgather,
                               Method::kTwoPhase};

// Like the measurements of `penstock bench exchange --calibrate`.
std::vector<MeasuredExchange> measure(const ExchangeCosts& costs) {
  std::vector<MeasuredExchange> out;
  for (const size_t elements : {1u << 14, 1u << 20, 1u << 24}) {
    for (const double density : {0.001, 0.01, 0.1}) {
      for (const Method method : kMethods) {
        const ExchangeSize size{elements, 4, density};
        out.push_back({method, size, exchange_s(method, size, costs)});
      }
    }
  }
  return out;
}

// Times of four ranks that share two CPUs and memory: the smallest layer fits
// into caches, which makes its elements cheap.
const std::vector<MeasuredExchange> kOnTwoCpus = {
    {Method::kDense, {262144, 4, 0.001}, 0.000675},
    {Method::kAllgather, {262144, 4, 0.001}, 0.000276},
    {Method::kTwoPhase, {262144, 4, 0.001}, 0.000396},
    {Method::kAllgather, {262144, 4, 0.01}, 0.000355},
    {Method::kTwoPhase, {262144, 4, 0.01}, 0.000611},
    {Method::kAllgather, {262144, 4, 0.05}, 0.000625},
    {Method::kTwoPhase, {262144, 4, 0.05}, 0.00112},
    {Method::kAllgather, {262144, 4, 0.1}, 0.000717},
    {Method::kTwoPhase, {262144, 4, 0.1}, 0.00146},
    {Method::kDense, {2097152, 4, 0.001}, 0.00811},
    {Method::kAllgather, {2097152, 4, 0.001}, 0.00238},
    {Method::kTwoPhase, {2097152, 4, 0.001}, 0.00379},
    {Method::kAllgather, {2097152, 4, 0.01}, 0.00425},
    {Method::kTwoPhase, {2097152, 4, 0.01}, 0.0059},
    {Method::kAllgather, {2097152, 4, 0.05}, 0.00877},
    {Method::kTwoPhase, {2097152, 4, 0.05}, 0.0102},
    {Method::kAllgather, {2097152, 4, 0.1}, 0.0113},
    {Method::kTwoPhase, {2097152, 4, 0.1}, 0.0138},
    {Method::kDense, {16777216, 4, 0.001}, 0.0615},
    {Method::kAllgather, {16777216, 4, 0.001}, 0.0284},
    {Method::kTwoPhase, {16777216, 4, 0.001}, 0.0314},
    {Method::kAllgather, {16777216, 4, 0.01}, 0.0447},
    {Method::kTwoPhase, {16777216, 4, 0.01}, 0.0491},
    {Method::kAllgather, {16777216, 4, 0.05}, 0.103},
    {Method::kTwoPhase, {16777216, 4, 0.05}, 0.0946},
    {Method::kAllgather, {16777216, 4, 0.1}, 0.122},
    {Method::kTwoPhase, {16777216, 4, 0.1}, 0.124},
};

double seconds_of(Method method, const ExchangeSize& size) {
  for (const MeasuredExchange& one : kOnTwoCpus) {
    const bool is_alike =
        method == Method::kDense || one.size.density == size.density;
    if (one.method == method && one.size.elements == size.elements &&
        is_alike) {
      return one.seconds;
    }
  }
  throw std::invalid_argument("not measured");
}

}  // namespace

TEST_CASE("the fit recovers costs from the times that they give") {
  const ExchangeCosts found = fit_costs(measure(kCosts));
  CHECK(found.message_s == Approx(kCosts.message_s).epsilon(1e-4));
  CHECK(found.byte_s == Approx(kCosts.byte_s).epsilon(1e-4));
  CHECK(found.add_s == Approx(kCosts.add_s).epsilon(1e-4));
  CHECK(found.select_s == Approx(kCosts.select_s).epsilon(1e-4));
  CHECK(found.record_s == Approx(kCosts.record_s).epsilon(1e-4));
}

TEST_CASE("errors of 5% in the times do not change the chosen method") {
  std::vector<MeasuredExchange> measured = measure(kCosts);
  for (size_t i = 0; i < measured.size(); ++i) {
    measured[i].seconds *= i % 2 == 0 ? 1.05 : 0.95;
  }
  const ExchangeCosts found = fit_costs(measured);
  for (const MeasuredExchange& one : measured) {
    CHECK(cheapest(one.size, found) == cheapest(one.size, kCosts));
    CHECK(exchange_s(one.method, one.size, found) ==
          Approx(one.seconds).epsilon(0.15));
  }
}

TEST_CASE("small layers do not determine the method of large ones") {
  const ExchangeCosts found = fit_costs(kOnTwoCpus);
  for (const double density : {0.001, 0.01, 0.05, 0.1}) {
    CAPTURE(density);
    const ExchangeSize size{1 << 24, 4, density};
    const double best_s = std::min(seconds_of(Method::kDense, size),
                                   seconds_of(Method::kAllgather, size));
    CHECK(seconds_of(cheapest(size, found), size) < best_s / 0.95);
  }
}

TEST_CASE("no cost is negative for times that fall with the layer's size") {
  const MeasuredExchange measured[] = {{Method::kDense, {1000, 2, 1}, 2e-3},
                                       {Method::kDense, {1000000, 2, 1}, 1e-3}};
  const ExchangeCosts found = fit_costs(measured);
  CHECK(found.message_s > 0);
  CHECK(found.byte_s >= 0);
  CHECK(found.add_s >= 0);
}

TEST_CASE("operations without dependents cost nothing") {
  const MeasuredExchange dense[] = {{Method::kDense, {1000, 2, 1}, 1e-3}};
  const ExchangeCosts found = fit_costs(dense);
  CHECK(found.select_s == 0);
  CHECK(found.record_s == 0);
  CHECK(exchange_s(Method::kDense, {1000, 2, 1}, found) == Approx(1e-3));
  CHECK(fit_costs({}).byte_s == 0);
}
