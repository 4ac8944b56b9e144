#include "loader/peer/peer_placement.h"

#include <algorithm>
#include <cmath>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

std::vector<std::string> named(size_t count) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < count; ++i)
    nodes.push_back("node" + std::to_string(i));
  return nodes;
}

}  // namespace

TEST_CASE("each node owns an equal part of the samples") {
  constexpr uint64_t kSamples = 100000;
  for (const size_t count : {2U, 3U, 4U, 16U, 100U}) {
    const PeerPlacement placement(named(count));
    std::vector<double> parts(count);
    for (uint64_t i = 0; i < kSamples; ++i) ++parts[placement.owner(i)];
    const double mean = double(kSamples) / double(count);
    // Five standard deviations of a fair draw.
    const double most_off = 5 * std::sqrt(mean);
    for (const double part : parts) CHECK(std::abs(part - mean) < most_off);
  }
}

TEST_CASE("without a node only its samples move, spread over all the others") {
  auto nodes = named(5);
  const PeerPlacement all(nodes);
  nodes.pop_back();
  const PeerPlacement left(nodes);
  std::vector<int> moved(4);
  for (uint64_t i = 0; i < 20000; ++i) {
    const size_t owner = left.owner(i);
    if (all.owner(i) == 4) {
      ++moved[owner];
    } else if (all.owner(i) != owner) {
      FAIL("sample " << i << " moved");
    }
  }
  for (const int count : moved) CHECK(std::abs(count - 1000) < 160);
}

TEST_CASE("the order of the names does not change the placement") {
  const auto nodes = named(7);
  auto turned = nodes;
  std::rotate(turned.begin(), turned.begin() + 3, turned.end());
  const PeerPlacement one(nodes), other(turned);
  for (uint64_t i = 0; i < 1000; ++i) {
    REQUIRE(nodes[one.owner(i)] == turned[other.owner(i)]);
  }
}

TEST_CASE("a single node owns every sample") {
  const PeerPlacement alone({"here"});
  for (const uint64_t i : {uint64_t{0}, uint64_t{17}, UINT64_MAX}) {
    CHECK(alone.owner(i) == 0);
  }
}

// Nodes of two versions have to agree.
TEST_CASE("the placement is the same in all versions") {
  const PeerPlacement placement({"alpha", "beta", "gamma"});
  std::string owners;
  for (uint64_t i = 0; i < 16; ++i) owners += char('0' + placement.owner(i));
  CHECK(owners == "1012102022021200");
}
