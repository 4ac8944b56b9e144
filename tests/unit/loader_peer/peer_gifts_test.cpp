// Samples that a client gives to other nodes.
#include "tests/unit/loader_peer/scripted.h"

using namespace penstock;
using namespace penstock::test;

namespace {

// A server that accepts samples slowly.
Scripted::Speak slow_taker(FakeAuthority& authority, std::atomic<int>& taken) {
  return [&](RawPeer& peer, PeerClaim claim) {
    if (!become_known(peer, claim, authority)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    while (auto said = peer.hear()) taken += said->head.kind == PeerKind::kPut;
  };
}

// A server that authenticates the client and then reads nothing.
Scripted::Speak takes_nothing(FakeAuthority& authority) {
  return [&authority](RawPeer& peer, PeerClaim claim) {
    if (become_known(peer, claim, authority)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
  };
}

}  // namespace

TEST_CASE("the last given samples are sent before the client ends") {
  FakeAuthority authority;
  std::atomic<int> taken = 0;
  const Scripted scripted(slow_taker(authority, taken));
  Client client({scripted.port()});
  // At its end a client drops unsent samples: on a busy machine 8 MB take long.
  client.options.answer_ns = 20'000 * kMs_ns;
  client.start();
  const std::vector<uint8_t> sample(200000, 1);
  for (uint64_t i = 0; i < 40; ++i) client.it->put(1, i, sample, 3);
  CHECK(client.counters().dropped == 0);
  // At its end the client opens no connection for them either.
  REQUIRE(wait_until([&] { return client.counters().given > 0; }, 20));
  CHECK(seconds_of([&] { client.it.reset(); }) < 20);
  CHECK(wait_until([&] { return taken == 40; }, 20));
}

TEST_CASE("a client ends in time if the server accepts no sample") {
  FakeAuthority authority;
  const Scripted scripted(takes_nothing(authority));
  Client client({scripted.port()});
  client.start();
  const std::vector<uint8_t> sample(7 << 20, 1);
  client.it->put(1, 1, sample, 3);
  CHECK(seconds_of([&] { client.it.reset(); }) < 0.9);
}

TEST_CASE("a server that accepts no sample is not asked again") {
  FakeAuthority authority;
  const Scripted scripted(takes_nothing(authority));
  Client client({scripted.port()});
  client.start();
  const std::vector<uint8_t> sample(7 << 20, 1);
  client.it->put(1, 1, sample, 3);
  CHECK(wait_until([&] { return client.counters().dropped == 1; }));
  CHECK(client.counters().given == 0);
  CHECK(wait_until([&] { return !client.all_warnings().empty(); }));
  CHECK_FALSE(client.get(1));
  CHECK(client.counters().asked == 0);
  client.it.reset();
}

TEST_CASE("threads that give at once stay within the bound together") {
  Client client({1});
  client.host = "no-such-node.invalid";
  client.start();
  const std::vector<uint8_t> sample(PeerClient::kGifts_bytes / 4, 1);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] { client.it->put(1, i, sample, 3); });
  }
  for (auto& thread : threads) thread.join();
  // Each node may use half of the bound.
  CHECK(client.counters().dropped == 14);
}

TEST_CASE("samples for missing nodes stay within the bound together") {
  Client client({1});
  std::vector<std::string> nodes;
  nodes.reserve(100);
  for (int i = 0; i < 100; ++i) {
    nodes.push_back("no-such-node" + std::to_string(i) + ".invalid");
  }
  auto started = PeerClient::start(nodes, client.options, {});
  REQUIRE(started);
  const std::vector<uint8_t> sample(1 << 20, 1);
  for (size_t i = 0; i < nodes.size(); ++i) (*started)->put(i, i, sample, 3);
  CHECK((*started)->counters().dropped ==
        nodes.size() - PeerClient::kMostGifts_bytes / sample.size());
}
