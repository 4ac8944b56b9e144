// What a client makes of nodes that are not there, or late.
#include <algorithm>

#include "tests/unit/loader_peer/scripted.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a good server's samples are had") {
  FakeAuthority authority;
  const Scripted scripted(good_server(authority));
  Client client({scripted.port()});
  client.start();
  for (uint64_t i = 0; i < kSamples; ++i) {
    std::vector<uint8_t> sample;
    CHECK(client.get(i, &sample));
    CHECK(sample == sample_bytes(i));
  }
  CHECK(scripted.connections() == 1);
  CHECK(client.counters().had == kSamples);
  CHECK(client.all_warnings().empty());
  client.it.reset();
}

TEST_CASE(
    "where nobody listens costs nothing, and is tried soon, then each second") {
  uint16_t port = 0;
  {
    const Scripted gone([](RawPeer&, const PeerClaim&) {});
    port = gone.port();
  }
  Client client({port});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.15);
  CHECK(client.counters().asked == 1);
  // After 20 and 40 ms more, and so on.
  CHECK(client.seconds_until_asked(3) < 0.5);
  CHECK(client.seconds_until_asked(7) > 1);
  CHECK(client.seconds_until_asked(8) > 0.9);
  CHECK(client.all_warnings().empty());
  FakeAuthority authority;
  const Scripted scripted(good_server(authority), port);
  CHECK(wait_until([&] { return client.get(1); }, 5));
  client.it.reset();
}

TEST_CASE("a node that begins a moment later is had a moment later") {
  uint16_t port = 0;
  {
    const Scripted later([](RawPeer&, const PeerClaim&) {});
    port = later.port();
  }
  Client client({port});
  client.start();
  CHECK_FALSE(client.get(1));
  FakeAuthority authority;
  const Scripted scripted(good_server(authority), port);
  CHECK(seconds_of([&] { CHECK(wait_until([&] { return client.get(1); })); }) <
        0.5);
  client.it.reset();
}

TEST_CASE("a name that nobody knows is left alone") {
  Client client({20000});
  client.host = "no-such-node.invalid";
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.1);
  REQUIRE(wait_until([&] { return !client.all_warnings().empty(); }));
  CHECK_THAT(client.all_warnings()[0], ContainsSubstring("no-such-node"));
}

TEST_CASE("a machine that does not answer costs the time to connect") {
  // Of a listener whose queue is full no SYN is answered.
  UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  REQUIRE(::bind(full.get(), address, bytes) == 0);
  REQUIRE(::listen(full.get(), 0) == 0);
  REQUIRE(::getsockname(full.get(), address, &bytes) == 0);
  std::vector<UniqueFd> queue;
  for (int i = 0; i < 3; ++i) {
    queue.emplace_back(
        ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(queue.back().get(), address, bytes);
  }
  const uint16_t port = ntohs(at.sin_port);
  Client client({port, uint16_t(port + 1), uint16_t(port + 2)});
  client.start();
  const double seconds = seconds_of([&] { CHECK_FALSE(client.get(1)); });
  CHECK(seconds > 0.15);
  CHECK(seconds < 0.45);
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.1);
  CHECK(client.counters().failed == 1);
}

TEST_CASE("a server that does not answer costs its time, ever more seldom") {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, [](RawPeer&, uint64_t) {}));
  Client client({scripted.port()});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(client.counters().asked == 1);
  // After 1 s and then 2, and the answer that does not come.
  const double first = client.seconds_until_asked(2);
  CHECK(first > 1.2);
  CHECK(first < 2.2);
  CHECK(client.seconds_until_asked(3) > 2.2);
  CHECK(client.all_warnings().size() == 1);
  CHECK(client.counters().refused == 0);
  client.it.reset();
}

TEST_CASE("all threads that wait for a late server wait no longer than one") {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, [](RawPeer&, uint64_t) {}));
  Client client({scripted.port()});
  client.start();
  CHECK(seconds_of([&] {
          std::vector<std::thread> threads;
          for (uint64_t i = 0; i < 16; ++i) {
            threads.emplace_back([&, i] { (void)client.get(i); });
          }
          for (auto& thread : threads) thread.join();
        }) < 0.9);
  client.it.reset();
}

TEST_CASE("a server that closes is asked again") {
  FakeAuthority authority;
  std::atomic<int> round = 0;
  const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
    if (!become_known(peer, claim, authority)) return;
    if (++round == 1) {
      (void)peer.hear();
      return;
    }
    serve(peer);
  });
  Client client({scripted.port()});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.3);
  CHECK(wait_until([&] { return client.get(1); }, 5));
  client.it.reset();
}

TEST_CASE("a server that ends while it is not asked costs nothing") {
  FakeAuthority authority;
  const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
    if (!become_known(peer, claim, authority)) return;
    const auto said = peer.hear();
    if (!said) return;
    peer.say_sample(PeerKind::kSample, said->head.index, {1, 2}, 3);
  });
  Client client({scripted.port()});
  client.start();
  for (int i = 0; i < 5; ++i) {
    CHECK(client.get(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(scripted.connections() == 5);
  CHECK(client.counters().failed == 0);
  client.it.reset();
}

TEST_CASE("an answer that never ends is late") {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, [](RawPeer& peer, uint64_t index) {
    peer.begin_sample(index, kMostPeerSampleBytes);
    const uint8_t byte = 0;
    for (int i = 0; i < 200 && peer.say_bytes(&byte, 1); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }));
  Client client({scripted.port()});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.1);
  CHECK(client.counters().failed == 1);
  client.it.reset();
}

TEST_CASE("a port of another program's does not hide the server's") {
  FakeAuthority authority;
  const Scripted silent(
      [](RawPeer& peer, const PeerClaim&) { (void)peer.is_closed(3000); });
  const Scripted closing([](RawPeer&, const PeerClaim&) {});
  const Scripted rude([](RawPeer& peer, const PeerClaim&) {
    peer.say_bytes("220 mail ESMTP, and so on, and so on", 36);
    (void)peer.is_closed(3000);
  });
  const Scripted good(good_server(authority));
  SECTION("which closes, or says something") {
    Client client({closing.port(), rude.port(), good.port()});
    client.start();
    CHECK(client.get(1));
    CHECK(client.counters().refused == 0);
    client.it.reset();
  }
  SECTION("which says nothing: that costs its time once") {
    Client client({silent.port(), good.port()});
    client.start();
    CHECK(seconds_of([&] { (void)client.get(1); }) < 0.9);
    (void)wait_until([&] { return client.get(2); }, 5);
    CHECK(seconds_of([&] { CHECK(client.get(3)); }) < 0.1);
    client.it.reset();
  }
}

TEST_CASE("without munge nodes are left alone, and none is called a liar") {
  FakeAuthority authority;
  const Scripted scripted(good_server(authority));
  Client client({scripted.port()});
  client.authority->set_gone(true);
  client.start();
  CHECK_FALSE(client.get(1));
  CHECK(client.counters().refused == 0);
  client.authority->set_gone(false);
  CHECK(wait_until([&] { return client.get(1); }, 5));
  client.it.reset();
}

TEST_CASE("a munge that hangs costs what a late node does") {
  FakeAuthority authority;
  const Scripted scripted(good_server(authority));
  Client client({scripted.port()});
  client.authority->set_delay_ms(1500);
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(seconds_of([&] { client.it.reset(); }) < 0.5);
}

TEST_CASE("the program's last descriptors are not for asking nodes") {
  FakeAuthority authority;
  const Scripted scripted(good_server(authority));
  Client client({scripted.port()});
  client.start();
  {
    const FewFds few(200);
    std::vector<UniqueFd> fds = take_fds(200);
    fds.resize(fds.size() - 30);
    CHECK_FALSE(client.get(1));
    CHECK(scripted.connections() == 0);
    REQUIRE(wait_until([&] { return !client.all_warnings().empty(); }));
    CHECK_THAT(client.all_warnings()[0], ContainsSubstring("descriptors"));
  }
  CHECK(wait_until([&] { return client.get(1); }, 5));
  client.it.reset();
}
