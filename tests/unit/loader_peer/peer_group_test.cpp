// Nodes that share their caches, without faults.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "common/host_name.h"
#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_peer/peer_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSamples = 200;

std::vector<PeerNode> nodes_of(size_t count, uint64_t answer_ms = 500) {
  std::vector<PeerNode> nodes;
  for (size_t i = 0; i < count; ++i) nodes.emplace_back(kSamples);
  for (size_t i = 0; i < count; ++i) {
    CachePeersOptions options = options_of(count, i);
    options.answer_ms = answer_ms;
    nodes[i].join(options);
  }
  for (auto& node : nodes) {
    REQUIRE(wait_until([&] { return node.group->server().port() != 0; }));
  }
  return nodes;
}

}  // namespace

TEST_CASE("all nodes agree on the single owner of each sample") {
  const auto nodes = nodes_of(3);
  for (uint64_t i = 0; i < kSamples; ++i) {
    CHECK(std::count_if(nodes.begin(), nodes.end(), [i](const auto& node) {
            return node.group->is_own(i);
          }) == 1);
  }
}

TEST_CASE("the other nodes get the samples of a node's cache") {
  auto nodes = nodes_of(2);
  for (uint64_t i = 0; i < kSamples; ++i) {
    if (nodes[0].group->is_own(i)) {
      nodes[0].cache->store(i, sample_bytes(i), int64_t(i) - 5);
    }
  }
  for (uint64_t i = 0; i < kSamples; ++i) {
    if (nodes[1].group->is_own(i)) continue;
    std::vector<uint8_t> sample;
    int64_t label = 0;
    REQUIRE(nodes[1].group->get(i, sample, label));
    CHECK(sample == sample_bytes(i));
    CHECK(label == int64_t(i) - 5);
  }
  const auto counters = nodes[1].group->counters();
  CHECK(counters.asked == counters.had);
  CHECK(counters.failed == 0);
  // Requests of other nodes do not count as hits of this node.
  CHECK(nodes[0].cache->counters().hits == 0);
}

TEST_CASE("a missing sample is reported at once") {
  auto nodes = nodes_of(2);
  std::vector<uint8_t> sample;
  int64_t label = 0;
  const uint64_t index = sample_of(*nodes[0].group, false);
  CHECK_FALSE(nodes[0].group->get(index, sample, label));
  CHECK(seconds_of([&] {
          CHECK_FALSE(nodes[0].group->get(index, sample, label));
        }) < 0.4);
  CHECK(nodes[0].group->counters().failed == 0);
  CHECK(nodes[0].group->counters().had == 0);
}

TEST_CASE("samples are given to their owners") {
  auto nodes = nodes_of(3);
  for (uint64_t i = 0; i < kSamples; ++i) {
    if (nodes[0].group->is_own(i)) continue;
    nodes[0].group->put(i, sample_bytes(i), int64_t(i));
  }
  const auto all = [&] {
    return nodes[1].cache->ready_samples() + nodes[2].cache->ready_samples();
  };
  const auto others = uint64_t(kSamples) - [&] {
    uint64_t own = 0;
    for (uint64_t i = 0; i < kSamples; ++i) own += nodes[0].group->is_own(i);
    return own;
  }();
  CHECK(wait_until([&] { return all() == others; }));
  for (uint64_t i = 0; i < kSamples; ++i) {
    for (size_t node : {1U, 2U}) {
      if (!nodes[node].group->is_own(i)) continue;
      int64_t label = 0;
      CHECK(sample_in(*nodes[node].cache, i, &label) == sample_bytes(i));
      CHECK(label == int64_t(i));
    }
  }
  CHECK(wait_until([&] { return nodes[0].group->counters().given == others; }));
  CHECK(nodes[0].group->counters().dropped == 0);
  // The receiving nodes count no misses.
  CHECK(nodes[1].cache->counters().misses == 0);
}

TEST_CASE("many threads share one connection") {
  auto nodes = nodes_of(2);
  for (uint64_t i = 0; i < kSamples; ++i) {
    nodes[0].cache->store(i, sample_bytes(i, 100000), int64_t(i));
  }
  std::atomic<int> wrong = 0, had = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t n = 0; n < kSamples; ++n) {
        const uint64_t i = (n + uint64_t(t) * 25) % kSamples;
        if (nodes[1].group->is_own(i)) continue;
        std::vector<uint8_t> sample;
        int64_t label = 0;
        if (!nodes[1].group->get(i, sample, label)) continue;
        ++had;
        if (sample != sample_bytes(i, 100000) || label != int64_t(i)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(uint64_t(had) == nodes[1].group->counters().asked);
}

TEST_CASE("samples up to the size limit are sent, larger ones are dropped") {
  auto nodes = nodes_of(2, 20000);
  const uint64_t index = sample_of(*nodes[0].group, false);
  const uint64_t other = sample_of(*nodes[0].group, false, index + 1);
  const std::vector<uint8_t> large(kMostPeerSampleBytes, 7);
  const std::vector<uint8_t> larger(kMostPeerSampleBytes + 1, 7);
  nodes[0].group->put(other, larger, 1);
  CHECK(nodes[0].group->counters().dropped == 1);
  nodes[0].group->put(index, large, 1);
  CHECK(wait_until([&] { return nodes[1].cache->find(index).has_value(); }));
  std::vector<uint8_t> sample;
  int64_t label = 0;
  CHECK(nodes[0].group->get(index, sample, label));
  CHECK((sample == large));
  nodes[1].cache->store(other, larger, 1);
  CHECK_FALSE(nodes[0].group->get(other, sample, label));
}

TEST_CASE("samples for a missing node are dropped beyond the bound") {
  PeerNode node(1000);
  node.join(options_of(2, 0));
  const std::vector<uint8_t> sample(1 << 20, 7);
  uint64_t index = 0;
  for (int i = 0; i < 100; ++i) {
    index = sample_of(*node.group, false, index + 1);
    node.group->put(index, sample, 1);
  }
  CHECK(node.group->counters().dropped >= 84);
}

TEST_CASE("samples read before the other node starts wait for it") {
  PeerNode first(kSamples), second(kSamples);
  first.join(options_of(2, 0));
  uint64_t given = 0;
  for (uint64_t i = 0; i < kSamples; ++i) {
    if (first.group->is_own(i)) continue;
    first.group->put(i, sample_bytes(i), 1);
    ++given;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  second.join(options_of(2, 1));
  CHECK(wait_until([&] { return second.cache->ready_samples() == given; }));
  CHECK(first.group->counters().dropped == 0);
}

TEST_CASE("a single node owns all samples") {
  PeerNode node(kSamples);
  node.join(options_of(1, 0));
  for (uint64_t i = 0; i < kSamples; ++i) CHECK(node.group->is_own(i));
}

TEST_CASE("a forked process asks no node, and ends") {
  auto nodes = nodes_of(2);
  const uint64_t index = sample_of(*nodes[0].group, false);
  nodes[1].cache->store(index, sample_bytes(index), 1);
  CHECK(in_child([&] {
          std::vector<uint8_t> sample;
          int64_t label = 0;
          if (nodes[0].group->get(index, sample, label)) ::_exit(1);
          nodes[0].group->put(index, sample_bytes(index), 1);
          nodes[0].group.reset();
        }) == 0);
  std::vector<uint8_t> sample;
  int64_t label = 0;
  CHECK(nodes[0].group->get(index, sample, label));
}

TEST_CASE("options outside their range are refused") {
  PeerNode node(kSamples);
  const auto refused = [&](const CachePeersOptions& options,
                           const std::string& why) {
    auto opened = PeerGroup::open(node.cache, options, node.authority);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Code::kInvalidArgument);
    CHECK_THAT(opened.error().message, ContainsSubstring(why));
  };
  auto options = options_of(2, 0);
  options.self = "elsewhere";
  refused(options, "\"elsewhere\", is none of the cache's 2 nodes");
  options = options_of(2, 0);
  options.nodes.push_back(options.self);
  refused(options, "comes twice");
  options.nodes.back() = std::string(256, 'a');
  refused(options, "1 to 255 bytes");
  options = options_of(2, 0);
  options.first_port = 30000;
  options.last_port = 29999;
  refused(options, "ports 30000 to 29999");
  options.first_port = 0;
  refused(options, "ports 0 to 29999");
  options = options_of(2, 0);
  options.answer_ms = 0;
  refused(options, "0 ms; allowed");
  options.answer_ms = 60001;
  refused(options, "60001 ms; allowed");
}

TEST_CASE("without munge opening the group is an error within 2.5 s") {
  PeerNode node(kSamples);
  node.authority->set_gone(true);
  auto opened = PeerGroup::open(node.cache, options_of(2, 0), node.authority);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::kUnavailable);
  node.authority->set_gone(false);
  node.authority->set_delay_ms(2600);
  CHECK(seconds_of([&] {
          opened =
              PeerGroup::open(node.cache, options_of(2, 0), node.authority);
        }) < 2.5);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message, ContainsSubstring("restart it"));
}

TEST_CASE("Slurm's variables give the nodes") {
  ::unsetenv("SLURM_STEP_NODELIST");
  ::unsetenv("SLURM_JOB_NODELIST");
  ::unsetenv("SLURMD_NODENAME");
  ::unsetenv("PENSTOCK_CACHE_PORTS");
  auto options = slurm_cache_peers();
  REQUIRE_FALSE(options);
  CHECK(options.error().code == Code::kNotFound);
  ::setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
  ::setenv("SLURMD_NODENAME", "n2", 1);
  options = slurm_cache_peers();
  REQUIRE(options);
  CHECK(options->nodes == std::vector<std::string>{"n1", "n2", "n3"});
  CHECK(options->self == "n2");
  CHECK(options->first_port == 20000);
  CHECK(options->last_port == 29999);
  ::setenv("SLURM_STEP_NODELIST", "n[2-3]", 1);
  ::setenv("PENSTOCK_CACHE_PORTS", "4000-4010", 1);
  options = slurm_cache_peers();
  REQUIRE(options);
  CHECK(options->nodes.size() == 2);
  CHECK(options->first_port == 4000);
  CHECK(options->last_port == 4010);
  for (const char* text : {"x", "0-10", "5-4", "1-65536", "1-", "-1"}) {
    ::setenv("PENSTOCK_CACHE_PORTS", text, 1);
    options = slurm_cache_peers();
    REQUIRE_FALSE(options);
    CHECK_THAT(options.error().message, ContainsSubstring("FIRST-LAST"));
  }
  ::unsetenv("PENSTOCK_CACHE_PORTS");
  ::setenv("SLURM_STEP_NODELIST", "n[", 1);
  CHECK_FALSE(slurm_cache_peers());
  ::unsetenv("SLURM_STEP_NODELIST");
  ::unsetenv("SLURM_JOB_NODELIST");
  ::unsetenv("SLURMD_NODENAME");
}

TEST_CASE("listed nodes have Slurm's notation") {
  ::setenv("SLURMD_NODENAME", "n2", 1);
  auto options = listed_cache_peers("n[1-2],m");
  REQUIRE(options);
  CHECK(options->nodes == std::vector<std::string>{"n1", "n2", "m"});
  CHECK(options->self == "n2");
  ::unsetenv("SLURMD_NODENAME");
  options = listed_cache_peers(host_name());
  REQUIRE(options);
  CHECK(options->self == options->nodes[0]);
  CHECK_FALSE(listed_cache_peers("n1,,n2"));
}
