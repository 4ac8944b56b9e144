#include "exchange/context/schedule.h"

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

// Bytes are expensive, reading elements is cheap.
constexpr ExchangeCosts kSlowLink{
    .message_s = 1e-9, .byte_s = 1e-8, .select_s = 1e-10};

std::vector<std::vector<int>> layers_of(const std::vector<Group>& groups) {
  std::vector<std::vector<int>> found;
  for (const Group& group : groups) found.push_back(group.layers);
  return found;
}

}  // namespace

TEST_CASE("small layers share a bucket until it is full") {
  const std::vector<LayerOptions> layers = {
      {.elements = 1000}, {.elements = 40}, {.elements = 2000},
      {.elements = 50},   {.elements = 30}, {.elements = 3000}};
  const auto groups = schedule(layers, 4, kSlowLink, 100);
  CHECK(layers_of(groups) ==
        std::vector<std::vector<int>>{{0}, {2}, {1, 3}, {5}, {4}});
  CHECK(groups[2].is_bucket);
  CHECK(groups[2].method == Method::kDense);
  CHECK(groups[2].elements == 90);
  CHECK(groups[0].method == Method::kTwoPhase);
  CHECK_FALSE(groups[0].is_bucket);
}

TEST_CASE("a single rank has no buckets") {
  const std::vector<LayerOptions> layers = {{.elements = 10}, {.elements = 20}};
  const auto groups = schedule(layers, 1, kSlowLink, 100);
  CHECK(layers_of(groups) == std::vector<std::vector<int>>{{0}, {1}});
  CHECK(groups[0].method == Method::kDense);
}

TEST_CASE("a requested method is used, also for a small layer") {
  const std::vector<LayerOptions> layers = {
      {.elements = 10, .method = Method::kAllgather},
      {.elements = 5000, .method = Method::kDense}};
  const auto groups = schedule(layers, 4, kSlowLink, 100);
  CHECK(groups[0].method == Method::kAllgather);
  CHECK(groups[1].method == Method::kDense);
  CHECK_FALSE(groups[1].is_bucket);
}
