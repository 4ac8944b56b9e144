// A client with missing or late nodes.
#include <algorithm>

#include "tests/unit/loader_peer/scripted.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a client gets all samples of a valid server") {
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
    "a port without a listener costs no time and is retried soon, then each "
    "second") {
  uint16_t port = 0;
  {
    const Scripted gone([](RawPeer&, const PeerClaim&) {});
    port = gone.port();
  }
  Client client({port});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.15);
  CHECK(client.counters().asked == 1);
  // Retries come after 20 ms, 40 ms and so on.
  CHECK(client.seconds_until_asked(3) < 0.5);
  CHECK(client.seconds_until_asked(7) > 1);
  CHECK(client.seconds_until_asked(8) > 0.9);
  CHECK(client.all_warnings().empty());
  FakeAuthority authority;
  const Scripted scripted(good_server(authority), port);
  CHECK(wait_until([&] { return client.get(1); }, 5));
  client.it.reset();
}

TEST_CASE("a node that starts a little later is reached a little later") {
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

TEST_CASE("an unknown name is not requested again") {
  Client client({20000});
  client.host = "no-such-node.invalid";
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.1);
  REQUIRE(wait_until([&] { return !client.all_warnings().empty(); }));
  CHECK_THAT(client.all_warnings()[0], ContainsSubstring("no-such-node"));
}

TEST_CASE("a machine without an answer costs the connection timeout") {
  // A listener with a full queue answers no SYN.
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

TEST_CASE("a server without an answer costs its timeout at growing intervals") {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, [](RawPeer&, uint64_t) {}));
  Client client({scripted.port()});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(client.counters().asked == 1);
  // Retries after 1 s and 2 s, plus the timeout of the answer.
  const double first = client.seconds_until_asked(2);
  CHECK(first > 1.2);
  CHECK(first < 2.2);
  CHECK(client.seconds_until_asked(3) > 2.2);
  CHECK(client.all_warnings().size() == 1);
  CHECK(client.counters().refused == 0);
  client.it.reset();
}

TEST_CASE(
    "threads that wait for a late server wait no longer than a single one") {
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

TEST_CASE("a server that closes the connection is asked again") {
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

TEST_CASE("a server that ends between requests costs no time") {
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

TEST_CASE("an endless answer counts as late") {
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

TEST_CASE("a port of another program does not hide the server's port") {
  FakeAuthority authority;
  const Scripted silent(
      [](RawPeer& peer, const PeerClaim&) { (void)peer.is_closed(3000); });
  const Scripted closing([](RawPeer&, const PeerClaim&) {});
  const Scripted rude([](RawPeer& peer, const PeerClaim&) {
    peer.say_bytes("220 mail ESMTP, and so on, and so on", 36);
    (void)peer.is_closed(3000);
  });
  const Scripted good(good_server(authority));
  SECTION("the other program closes or sends data") {
    Client client({closing.port(), rude.port(), good.port()});
    client.start();
    CHECK(client.get(1));
    CHECK(client.counters().refused == 0);
    client.it.reset();
  }
  SECTION("a silent program costs its timeout once") {
    Client client({silent.port(), good.port()});
    client.start();
    CHECK(seconds_of([&] { (void)client.get(1); }) < 0.9);
    (void)wait_until([&] { return client.get(2); }, 5);
    CHECK(seconds_of([&] { CHECK(client.get(3)); }) < 0.1);
    client.it.reset();
  }
}

TEST_CASE("without munge nodes are not asked and not counted as refused") {
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

TEST_CASE("a hanging munge costs the time of a late node") {
  FakeAuthority authority;
  const Scripted scripted(good_server(authority));
  Client client({scripted.port()});
  client.authority->set_delay_ms(1500);
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.9);
  CHECK(seconds_of([&] { client.it.reset(); }) < 0.5);
}

TEST_CASE("a client leaves the program's last descriptors unused") {
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
