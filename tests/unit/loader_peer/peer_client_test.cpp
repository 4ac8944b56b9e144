// What a client makes of nodes that are not there, late, or lie.
#include "loader/peer/peer_client.h"

#include <algorithm>

#include "tests/unit/loader_peer/raw_peer.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kFingerprint = 7;
constexpr uint64_t kSamples = 100;
constexpr uint64_t kMs_ns = 1000000;
constexpr const char* kHost = "127.0.0.1";

// A node of a test's making: what it says to a client is the test's.
class Scripted {
 public:
  // speak: for each connection, in a thread of all of them.
  using Speak = std::function<void(RawPeer& peer, PeerClaim claim)>;
  explicit Scripted(Speak speak, uint16_t port = 0) : speak_(std::move(speak)) {
    fd_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    socklen_t bytes = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    REQUIRE(::bind(fd_.get(), address, bytes) == 0);
    REQUIRE(::listen(fd_.get(), 16) == 0);
    REQUIRE(::getsockname(fd_.get(), address, &bytes) == 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Scripted() {
    stopping_ = true;
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }
  uint16_t port() const { return port_; }
  int connections() const { return connections_; }
  bool is_stopping() const { return stopping_; }
  PeerClaim claim() const {
    return {{}, {}, kFingerprint, kSamples, kHost, port_};
  }

 private:
  void run() {
    while (!stopping_) {
      UniqueFd fd(::accept(fd_.get(), nullptr, nullptr));
      if (!fd) return;
      ++connections_;
      RawPeer peer(std::move(fd));
      speak_(peer, claim());
    }
  }

  const Speak speak_;
  UniqueFd fd_;
  uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

struct Client {
  std::shared_ptr<FakeAuthority> authority = std::make_shared<FakeAuthority>();
  std::mutex mutex;
  std::vector<std::string> warnings;
  PeerLinkOptions options;
  std::string host = kHost;
  std::unique_ptr<PeerClient> it;

  explicit Client(std::vector<uint16_t> ports) {
    options.ports = std::move(ports);
    options.connect_ns = 200 * kMs_ns;
    options.answer_ns = 500 * kMs_ns;
    options.fingerprint = kFingerprint;
    options.samples = kSamples;
    options.authority = authority;
  }
  void start() {
    auto client = PeerClient::start({"self", host}, options,
                                    [this](const std::string& what) {
                                      const std::lock_guard lock(mutex);
                                      warnings.push_back(what);
                                    });
    REQUIRE(client);
    it = *std::move(client);
  }
  bool get(uint64_t index, std::vector<uint8_t>* out = nullptr) {
    std::vector<uint8_t> sample;
    int64_t label = 0;
    const bool is_there = it->get(1, index, sample, label);
    if (out != nullptr) *out = sample;
    return is_there;
  }
  CachePeersCounters counters() const { return it->counters(); }
  std::vector<std::string> all_warnings() {
    const std::lock_guard lock(mutex);
    return warnings;
  }
};

// As a good server would, up to the first get.
bool become_known(RawPeer& peer, PeerClaim& claim, FakeAuthority& authority) {
  if (!peer.hear_hello(claim)) return false;
  auto credential = authority.seal(server_claim_text(claim));
  return credential && peer.challenge(claim, *credential) &&
         peer.hear().has_value();
}

// Answers with each sample, as long as it is asked.
void serve(RawPeer& peer) {
  while (auto said = peer.hear()) {
    if (said->head.kind != PeerKind::kGet) continue;
    peer.say_sample(PeerKind::kSample, said->head.index,
                    sample_bytes(said->head.index), 3);
  }
}

Scripted::Speak good_server(FakeAuthority& authority) {
  return [&authority](RawPeer& peer, PeerClaim claim) {
    if (become_known(peer, claim, authority)) serve(peer);
  };
}

// A server that is known, and says the wrong thing to the first get.
Scripted::Speak liar(FakeAuthority& authority,
                     std::function<void(RawPeer& peer, uint64_t index)> lie) {
  return [&authority, lie = std::move(lie)](RawPeer& peer, PeerClaim claim) {
    if (!become_known(peer, claim, authority)) return;
    if (const auto said = peer.hear()) lie(peer, said->head.index);
    (void)peer.is_closed(3000);
  };
}

// It costs what a late answer does at most, is counted and said once, and
// the node is left alone.
void check_refused(Client& client, const std::string& why) {
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(5)); }) < 0.9);
  CHECK(wait_until([&] { return client.counters().refused == 1; }));
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(5)); }) < 0.1);
  CHECK(client.counters().asked == 1);
  CHECK(client.counters().failed == 1);
  REQUIRE(wait_until([&] { return !client.all_warnings().empty(); }));
  CHECK_THAT(client.all_warnings()[0], ContainsSubstring(why));
  CHECK_THAT(client.all_warnings()[0], ContainsSubstring(kHost));
}

void check_lie(const std::function<void(RawPeer& peer, uint64_t index)>& lie,
               const std::string& why, uint64_t sample_bytes = 0) {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, lie));
  Client client({scripted.port()});
  client.options.sample_bytes = sample_bytes;
  client.start();
  check_refused(client, why);
  client.it.reset();
}

// A server that never becomes known.
void check_stranger(
    const std::function<void(RawPeer& peer, PeerClaim claim)>& speak,
    const std::string& why) {
  const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
    if (!peer.hear_hello(claim)) return;
    speak(peer, claim);
    (void)peer.is_closed(3000);
  });
  Client client({scripted.port()});
  client.start();
  check_refused(client, why);
  client.it.reset();
}

}  // namespace

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

TEST_CASE("where nobody listens costs nothing, and is tried every second") {
  uint16_t port = 0;
  {
    const Scripted gone([](RawPeer&, const PeerClaim&) {});
    port = gone.port();
  }
  Client client({port});
  client.start();
  CHECK(seconds_of([&] { CHECK_FALSE(client.get(1)); }) < 0.15);
  CHECK_FALSE(client.get(1));
  CHECK(client.counters().asked == 1);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    CHECK_FALSE(client.get(1));
  }
  CHECK(client.counters().asked == 3);
  CHECK(client.all_warnings().empty());
  FakeAuthority authority;
  const Scripted scripted(good_server(authority), port);
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  CHECK(client.get(1));
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
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK_FALSE(client.get(1));  // after 1 s
  CHECK(client.counters().asked == 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK_FALSE(client.get(1));
  CHECK(client.counters().asked == 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK_FALSE(client.get(1));  // after 2 s
  CHECK(client.counters().asked == 3);
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
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK(client.get(1));
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

TEST_CASE("answers that cannot be right are not taken") {
  const std::vector<uint8_t> sample = sample_bytes(5);
  const char* const unasked = "no answer to what it was asked";
  SECTION("another sample's number") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kSample, index + 1, sample, 3);
        },
        unasked);
  }
  SECTION("another sample is missing") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say({PeerKind::kMiss, 0, index + 1});
        },
        unasked);
  }
  SECTION("a wrong checksum") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say({PeerKind::kSample, 0, index, 3, 12345}, sample);
        },
        "checksum is wrong");
  }
  SECTION("another label than the checksum's") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say({PeerKind::kSample, 0, index, 4, peer_checksum(sample, 3)},
                   sample);
        },
        "checksum is wrong");
  }
  SECTION("a length that no sample has") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kSample, index, sample, 3);
        },
        "length or checksum is wrong", sample.size() + 1);
  }
  SECTION("an answer more than it was asked") {
    FakeAuthority authority;
    const Scripted scripted(liar(authority, [&](RawPeer& peer, uint64_t index) {
      peer.say_sample(PeerKind::kSample, index, sample, 3);
      peer.say_sample(PeerKind::kSample, index, sample, 3);
    }));
    Client client({scripted.port()});
    client.start();
    CHECK(client.get(5));
    CHECK(wait_until([&] { return client.counters().refused == 1; }));
    client.it.reset();
  }
  SECTION("garbage") {
    check_lie(
        [&](RawPeer& peer, uint64_t) {
          const std::vector<uint8_t> garbage(100000, 'x');
          peer.say_bytes(garbage.data(), garbage.size());
        },
        "no answer");
  }
  SECTION("a sample that is too large") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          const PeerHeadBytes head = encode_peer_head(
              {PeerKind::kSample, kMostPeerSampleBytes + 1, index});
          peer.say_bytes(head.data(), head.size());
        },
        "no answer");
  }
  SECTION("what only a client says") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kPut, index, sample, 3);
        },
        unasked);
  }
}

TEST_CASE("an answer that never ends is late") {
  FakeAuthority authority;
  const Scripted scripted(liar(authority, [](RawPeer& peer, uint64_t index) {
    const PeerHeadBytes head =
        encode_peer_head({PeerKind::kSample, kMostPeerSampleBytes, index});
    peer.say_bytes(head.data(), head.size());
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

TEST_CASE("who cannot show who it is gets no answer taken") {
  FakeAuthority authority, other("somebody else");
  const auto sealed = [&](const std::string& claim) {
    return *authority.seal(claim);
  };
  const char* const wrong = "speaks for another node or port";
  SECTION("another user") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          peer.challenge(claim, *other.seal(server_claim_text(claim)));
        },
        "another user's");
  }
  SECTION("other data") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          ++claim.fingerprint;
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        "has other data");
  }
  SECTION("another number of samples") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          ++claim.samples;
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        wrong);
  }
  SECTION("another node, whose words are passed on") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          claim.node = "127.0.0.9";
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        wrong);
  }
  SECTION("another port, likewise") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          ++claim.port;
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        wrong);
  }
  SECTION("what was sealed for another connection") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          PeerClaim before = claim;
          before.client_nonce = random_nonce();
          peer.challenge(claim, sealed(server_claim_text(before)));
        },
        wrong);
  }
  SECTION("what a client would say") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          peer.challenge(claim, sealed(client_claim_text(claim)));
        },
        wrong);
  }
  SECTION("no credential") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) { peer.challenge(claim, "x"); },
        "no credential");
  }
  SECTION("garbage") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim&) {
          const std::string garbage =
              "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\n";
          peer.say_bytes(garbage.data(), garbage.size());
        },
        "no answer");
  }
  SECTION("a sample at once") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim&) {
          peer.say_sample(PeerKind::kSample, 5, sample_bytes(5), 3);
        },
        "no greeting");
  }
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

TEST_CASE("who does not take what it is given is left alone") {
  FakeAuthority authority;
  const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
    if (become_known(peer, claim, authority)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
  });
  Client client({scripted.port()});
  client.start();
  const std::vector<uint8_t> sample(7 << 20, 1);
  client.it->put(1, 1, sample, 3);
  CHECK(wait_until([&] { return client.counters().dropped == 1; }));
  CHECK(client.counters().given == 0);
  CHECK_FALSE(client.get(1));
  CHECK(client.counters().asked == 0);
  client.it.reset();
}
