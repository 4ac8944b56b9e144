#include "select_ext/ctld/pool_shares.h"

#include <cstdint>
#include <cstdlib>
#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

double sum(const std::vector<PoolPart>& parts) {
  double sum = 0;
  for (const PoolPart& part : parts) sum += part.granted_bytes_per_s;
  return sum;
}

}  // namespace

TEST_CASE("unused bandwidth is divided by shares") {
  const auto granted =
      share_pool(100, {{0, 1, 10, 20, false}, {1, 3, 0, 0, false}});
  CHECK(granted[0].needed_bytes_per_s == Approx(20));
  CHECK(granted[0].granted_bytes_per_s == Approx(20 + kDivided * 80.0 / 4));
  CHECK(granted[1].needed_bytes_per_s == 0);
  CHECK(granted[1].granted_bytes_per_s == Approx(kDivided * 80.0 * 3 / 4));
}

TEST_CASE(
    "a reader of unknown need gets its entitlement at the others' expense") {
  const auto granted =
      share_pool(100, {{0, 1, 10, 90, false}, {1, 1, 0, 0, true}});
  CHECK(granted[1].granted_bytes_per_s == Approx(50));
  CHECK(granted[0].granted_bytes_per_s == Approx(50));
}

TEST_CASE("without readers nothing is granted") {
  CHECK(share_pool(100, {}).empty());
  CHECK(entitled_bytes_per_s(100, 1, 0) == 0);
}

TEST_CASE("floors hold and the sum never exceeds the bandwidth") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<PoolReader> readers(1 + random() % 20);
    double shares = 0;
    for (PoolReader& reader : readers) {
      reader.shares = 1 + random() % 8;
      shares += reader.shares;
    }
    for (PoolReader& reader : readers) {
      const double entitled = 1000 * reader.shares / shares;
      reader.floor_bytes_per_s = share(random) * entitled;
      reader.wanted_bytes_per_s =
          reader.floor_bytes_per_s + share(random) * share(random) * 1000;
      reader.gets_entitlement = random() % 4 == 0;
    }
    const auto granted = share_pool(1000, readers);
    CHECK(sum(granted) <= 1000 * (1 + 1e-12));
    for (size_t i = 0; i < readers.size(); ++i) {
      const PoolPart& part = granted[i];
      CHECK(part.granted_bytes_per_s >= part.needed_bytes_per_s);
      CHECK(part.needed_bytes_per_s >=
            readers[i].floor_bytes_per_s * (1 - 1e-12));
      if (readers[i].gets_entitlement) {
        CHECK(part.needed_bytes_per_s >=
              1000 * readers[i].shares / shares * (1 - 1e-12));
      }
    }
  }
}
