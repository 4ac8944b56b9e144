// A server with valid and invalid clients.
#include <fcntl.h>

#include <algorithm>

#include "loader/cache/cache_layout.h"
#include "tests/unit/loader_peer/served.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSamples = Served::kSamples;
constexpr const char* kHost = Served::kHost;

}  // namespace

TEST_CASE("an authenticated client gets samples and misses") {
  Served test;
  test.cache->store(4, sample_bytes(4), -9);
  test.start();
  RawPeer peer = test.client();
  for (const uint64_t index : {4U, 5U}) {
    peer.say({PeerKind::kGet, 0, index});
  }
  auto said = peer.hear();
  REQUIRE(said);
  CHECK(said->head.kind == PeerKind::kSample);
  CHECK(said->head.index == 4);
  CHECK(said->head.label == -9);
  CHECK(said->body == sample_bytes(4));
  CHECK(said->head.sum == peer_checksum(said->body, -9));
  said = peer.hear();
  REQUIRE(said);
  CHECK(said->head.kind == PeerKind::kMiss);
  CHECK(said->head.index == 5);
}

TEST_CASE("a server proves its claim to the client") {
  Served test;
  test.start();
  RawPeer peer = test.connect();
  PeerClaim claim = test.claim();
  const auto said = peer.greet(claim);
  REQUIRE(said);
  const std::string credential(said->body.begin() + kPeerNonceBytes,
                               said->body.end());
  auto opened = test.authority->open(credential);
  REQUIRE(opened);
  CHECK(*opened == server_claim_text(claim));
}

TEST_CASE("a damaged sample is not served") {
  Served test;
  test.cache->store(4, sample_bytes(4), 1);
  const UniqueFd fd(::open(test.cache->path().c_str(), O_RDWR));
  const uint8_t wrong = 99;
  REQUIRE(::pwrite(fd.get(), &wrong, 1,
                   off_t(cache_data_offset(kSamples) + 100)) == 1);
  test.start();
  RawPeer peer = test.client();
  peer.say({PeerKind::kGet, 0, 4});
  const auto said = peer.hear();
  REQUIRE(said);
  CHECK(said->head.kind == PeerKind::kMiss);
  CHECK(test.cache->counters().damaged == 1);
}

TEST_CASE("an unauthenticated client gets nothing and can give nothing") {
  Served test;
  test.cache->store(1, sample_bytes(1), 1);
  test.start();
  FakeAuthority other("somebody else");
  RawPeer peer = test.connect();
  PeerClaim claim = test.claim();
  SECTION("a get first") { peer.say({PeerKind::kGet, 0, 1}); }
  SECTION("a put first") {
    peer.say_sample(PeerKind::kPut, 2, sample_bytes(2), 1);
  }
  SECTION("a proof without hello") { peer.prove("x"); }
  SECTION("a get instead of a proof") {
    REQUIRE(peer.greet(claim));
    peer.say({PeerKind::kGet, 0, 1});
  }
  SECTION("two hellos") {
    REQUIRE(peer.greet(claim));
    peer.say({PeerKind::kHello}, std::vector<uint8_t>(16));
  }
  SECTION("another user") {
    REQUIRE(peer.greet(claim));
    peer.prove(*other.seal(client_claim_text(claim)));
    peer.say({PeerKind::kGet, 0, 1});
  }
  SECTION("the server's own credential") {
    const auto said = peer.greet(claim);
    REQUIRE(said);
    peer.prove({said->body.begin() + kPeerNonceBytes, said->body.end()});
  }
  SECTION("a replayed proof") {
    REQUIRE(peer.greet(claim));
    const std::string proof = *test.authority->seal(client_claim_text(claim));
    REQUIRE(test.authority->open(proof));
    peer.prove(proof);
  }
  SECTION("a proof of another connection") {
    RawPeer before = test.connect();
    PeerClaim old = test.claim();
    REQUIRE(before.greet(old));
    REQUIRE(peer.greet(claim));
    peer.prove(*test.authority->seal(client_claim_text(old)));
  }
  SECTION("a proof for another node") {
    REQUIRE(peer.greet(claim));
    claim.node = "elsewhere";
    peer.prove(*test.authority->seal(client_claim_text(claim)));
  }
  SECTION("a proof for other data") {
    REQUIRE(peer.greet(claim));
    ++claim.fingerprint;
    peer.prove(*test.authority->seal(client_claim_text(claim)));
  }
  SECTION("no credential") {
    REQUIRE(peer.greet(claim));
    peer.prove("x");
  }
  SECTION("garbage") {
    const std::string garbage = "GET / HTTP/1.1\r\nHost: somewhere.example\r\n";
    peer.say_bytes(garbage.data(), garbage.size());
  }
  CHECK(peer.is_closed());
  CHECK(test.cache->ready_samples() == 1);
  CHECK(test.still_serves());
  CHECK(wait_until([&] { return test.server->refused() >= 1; }));
}

TEST_CASE("an authenticated client with invalid messages is disconnected") {
  Served test;
  test.start();
  RawPeer peer = test.client();
  SECTION("a get beyond the data set") {
    peer.say({PeerKind::kGet, 0, kSamples});
  }
  SECTION("a put beyond the data set") {
    peer.say_sample(PeerKind::kPut, UINT64_MAX, sample_bytes(1), 1);
  }
  SECTION("a put with a wrong checksum") {
    peer.say({PeerKind::kPut, 0, 1, 1, 77}, sample_bytes(1));
  }
  SECTION("an answer") {
    peer.say_sample(PeerKind::kSample, 1, sample_bytes(1), 1);
  }
  SECTION("a second hello") {
    peer.say({PeerKind::kHello}, std::vector<uint8_t>(16));
  }
  SECTION("a put beyond the size limit") {
    const PeerHeadBytes head =
        encode_peer_head({PeerKind::kPut, kMostPeerSampleBytes + 1, 1});
    peer.say_bytes(head.data(), head.size());
  }
  CHECK(peer.is_closed());
  CHECK(test.cache->ready_samples() == 0);
  CHECK(test.still_serves());
}

TEST_CASE("a message out of turn is refused at its head") {
  Served test;
  test.start();
  RawPeer peer = test.connect();
  PeerClaim claim = test.claim();
  PeerHead head{PeerKind::kPut, kMostPeerSampleBytes, 1};
  SECTION("an unauthenticated client instead of a hello") {}
  SECTION("an unauthenticated client instead of a proof") {
    REQUIRE(peer.greet(claim));
    head.kind = PeerKind::kSample;
  }
  SECTION("a client that sends an answer") {
    peer = test.client();
    head.kind = PeerKind::kSample;
  }
  SECTION("a client that gives a sample beyond the data set") {
    peer = test.client();
    head.index = kSamples;
  }
  const PeerHeadBytes bytes = encode_peer_head(head);
  peer.say_bytes(bytes.data(), bytes.size());
  CHECK(peer.is_closed(2000));  // before the timeout of an incomplete message
  CHECK(wait_until([&] { return test.server->refused() == 1; }));
}

TEST_CASE("silent connections make room for others and are closed after 5 s") {
  Served test;
  test.start();
  std::vector<RawPeer> strangers;
  strangers.reserve(200);
  for (int i = 0; i < 200; ++i) strangers.push_back(test.connect());
  CHECK(test.still_serves());
  CHECK(strangers.front().is_closed());
  CHECK(strangers.back().is_closed(7000));  // after 5 s
}

TEST_CASE("all of 150 simultaneous clients are accepted") {
  Served test;
  test.authority->set_delay_ms(2);
  test.start();
  int known = 0;
  std::vector<RawPeer> peers;
  std::vector<PeerClaim> claims;
  for (int i = 0; i < 150; ++i) {
    peers.push_back(test.connect());
    claims.push_back(test.claim());
    claims.back().client_nonce = random_nonce();
    peers.back().say({PeerKind::kHello}, {claims.back().client_nonce.begin(),
                                          claims.back().client_nonce.end()});
  }
  for (size_t i = 0; i < peers.size(); ++i) {
    const auto said = peers[i].hear();
    if (!said) continue;
    std::copy_n(said->body.begin(), kPeerNonceBytes,
                claims[i].server_nonce.begin());
    peers[i].prove(*test.authority->seal(client_claim_text(claims[i])));
    peers[i].say({PeerKind::kGet, 0, 1});
  }
  for (RawPeer& peer : peers) known += peer.hear().has_value();
  CHECK(known == 150);
}

TEST_CASE("a client that stops within a message is disconnected") {
  Served test;
  test.start();
  RawPeer peer = test.client(), idle = test.client();
  const PeerHeadBytes head = encode_peer_head({PeerKind::kPut, 100000, 1});
  peer.say_bytes(head.data(), head.size());
  CHECK_FALSE(peer.is_closed(1000));
  CHECK(peer.is_closed(7000));
  // An idle client is not disconnected.
  idle.say({PeerKind::kGet, 0, 1});
  CHECK(idle.hear());
}

TEST_CASE("a client that reads no answers is bounded in memory and time") {
  Served test;
  for (uint64_t i = 0; i < 20; ++i) {
    test.cache->store(i, std::vector<uint8_t>(1 << 20, uint8_t(i)), 1);
  }
  test.start();
  RawPeer slow = test.client();
  const int small = 4096;
  ::setsockopt(slow.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  for (uint64_t i = 0; i < 2000; ++i) slow.say({PeerKind::kGet, 0, i % 20});
  CHECK(wait_until([&] { return test.server->served() > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(test.server->served() < 20);
  CHECK(test.still_serves());  // serves others meanwhile
  CHECK(wait_until([&] {       // after 5 s
    return !slow.say({PeerKind::kGet, 0, 1});
  }));
}

TEST_CASE("a slow reader gets all answers") {
  Served test;
  for (uint64_t i = 0; i < 20; ++i) {
    test.cache->store(i, std::vector<uint8_t>(1 << 20, uint8_t(i)), 1);
  }
  test.start();
  RawPeer slow = test.client();
  for (uint64_t i = 0; i < 100; ++i) slow.say({PeerKind::kGet, 0, i % 20});
  for (uint64_t i = 0; i < 100; ++i) {
    const auto said = slow.hear();
    REQUIRE(said);
    CHECK(said->head.index == i % 20);
    CHECK(said->head.kind == PeerKind::kSample);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_CASE("samples beyond the memory bound are skipped") {
  Served test;
  test.start();
  // Each begins a sample of 40 MB; two of them exceed the bound.
  std::vector<RawPeer> peers;
  const std::vector<uint8_t> large(40 << 20, 5);
  for (uint64_t i = 0; i < 2; ++i) {
    peers.push_back(test.client());
    PeerHead head{PeerKind::kPut, uint32_t(large.size()), i, 1,
                  peer_checksum(large, 1)};
    const PeerHeadBytes bytes = encode_peer_head(head);
    peers[i].say_bytes(bytes.data(), bytes.size());
    peers[i].say_bytes(large.data(), 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (auto& peer : peers) {
    CHECK(peer.say_bytes(large.data() + 1000, large.size() - 1000));
    peer.say({PeerKind::kGet, 0, 50});
    CHECK(peer.hear());
  }
  CHECK(test.cache->find(0));
  CHECK_FALSE(test.cache->find(1));
}

TEST_CASE("the number of connections is bounded") {
  Served test;
  test.start();
  std::vector<RawPeer> peers;
  for (size_t i = 0; i < PeerServer::kMostPeers; ++i) {
    peers.push_back(test.client());
  }
  REQUIRE(peers.back().say({PeerKind::kGet, 0, 1}));
  CHECK(peers.back().hear());
  CHECK(test.connect().is_closed());
  peers.front().close();
  CHECK(wait_until([&] {
    PeerClaim claim = test.claim();
    return test.connect().greet(claim).has_value();
  }));
}

TEST_CASE("connections leave descriptors for the program") {
  Served test;
  test.start();
  const FewFds few(200);
  std::vector<RawPeer> peers;
  while (true) {
    RawPeer peer = test.connect();
    PeerClaim claim = test.claim();
    if (!peer.greet(claim)) break;
    peer.prove(*test.authority->seal(client_claim_text(claim)));
    peers.push_back(std::move(peer));
  }
  CHECK(take_fds(45).size() == 45);
  // With free descriptors the server accepts again.
  peers.clear();
  CHECK(wait_until([&] {
    PeerClaim claim = test.claim();
    return test.connect().greet(claim).has_value();
  }));
}

TEST_CASE("one process serves at a time, and the next one after its end") {
  Served test;
  test.start();
  auto second =
      PeerServer::start(test.cache, test.authority,
                        {kHost, kHost, {test_port(1), test_port(2)}, {}});
  REQUIRE(second);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK((*second)->port() == 0);
  test.server.reset();
  CHECK(seconds_of([&] {
          CHECK(wait_until([&] { return (*second)->port() == test_port(1); }));
        }) < 1);
}

TEST_CASE("the server uses the first free port") {
  Served first, second, third;
  first.start({test_port(0), test_port(1)});
  second.start({test_port(0), test_port(1)});
  CHECK(first.server->port() == test_port(0));
  CHECK(second.server->port() == test_port(1));
  std::atomic<bool> has_warned = false;
  std::string warning;
  auto started = PeerServer::start(third.cache, third.authority,
                                   {kHost,
                                    kHost,
                                    {test_port(0), test_port(1)},
                                    [&](const std::string& what) {
                                      warning = what;
                                      has_warned = true;
                                    }});
  REQUIRE(started);
  REQUIRE(wait_until([&] { return has_warned.load(); }));
  CHECK_THAT(warning, ContainsSubstring("all 2 ports, of which " +
                                        std::to_string(test_port(0))));
  first.server.reset();
  CHECK(wait_until([&] { return (*started)->port() == test_port(0); }));
}

TEST_CASE("a hanging munge delays only new clients") {
  Served test;
  test.cache->store(1, sample_bytes(1), 1);
  test.start();
  RawPeer known = test.client();
  known.say({PeerKind::kGet, 0, 1});
  REQUIRE(known.hear());
  test.authority->set_delay_ms(2000);
  RawPeer stranger = test.connect();
  stranger.say({PeerKind::kHello}, std::vector<uint8_t>(16));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(seconds_of([&] {
          known.say({PeerKind::kGet, 0, 1});
          CHECK(known.hear());
        }) < 0.5);
  CHECK(seconds_of([&] { test.server.reset(); }) < 0.5);
}

TEST_CASE("a client is disconnected but not counted as refused without munge") {
  Served test;
  test.start();
  RawPeer peer = test.connect();
  PeerClaim claim = test.claim();
  REQUIRE(peer.greet(claim));
  const std::string proof = *test.authority->seal(client_claim_text(claim));
  test.authority->set_gone(true);
  peer.prove(proof);
  CHECK(peer.is_closed());
  test.authority->set_gone(false);
  CHECK(test.still_serves());
  CHECK(test.server->refused() == 0);
}

TEST_CASE("candidate ports depend on name and data, within the range") {
  const auto ports =
      candidate_ports("penstock-cache-0/a.cache", 7, 20000, 29999);
  CHECK(ports.size() == kPeerPorts);
  CHECK(ports == candidate_ports("penstock-cache-0/a.cache", 7, 20000, 29999));
  CHECK(ports != candidate_ports("penstock-cache-1/a.cache", 7, 20000, 29999));
  CHECK(ports != candidate_ports("penstock-cache-0/a.cache", 8, 20000, 29999));
  for (const uint16_t port : ports) CHECK((port >= 20000 && port <= 29999));
  auto few = candidate_ports("x", 7, 40000, 40002);
  std::sort(few.begin(), few.end());
  CHECK(few == std::vector<uint16_t>{40000, 40001, 40002});
  CHECK(candidate_ports("x", 7, 65535, 65535) == std::vector<uint16_t>{65535});
}

TEST_CASE("an invalid address is refused") {
  const auto listener = listen_for_peers("no address", {test_port(0)});
  REQUIRE_FALSE(listener);
  CHECK(listener.error().code == Code::kInvalidArgument);
}

TEST_CASE("without an address the server listens on all addresses") {
  const auto listener = listen_for_peers("", {test_port(0), test_port(1)});
  REQUIRE(listener);
  (void)RawPeer::connect("127.0.0.1", listener->port);
  (void)RawPeer::connect("127.0.0.7", listener->port);
}
