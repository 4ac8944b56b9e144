// A server with scripted messages, and a client for it.
#pragma once

#include "loader/peer/peer_client.h"
#include "tests/unit/loader_peer/raw_peer.h"

namespace penstock::test {

constexpr uint64_t kFingerprint = 7;
constexpr uint64_t kSamples = 100;
constexpr uint64_t kMs_ns = 1000000;
constexpr const char* kHost = "127.0.0.1";

// A server whose messages the test determines.
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
  int closed() const { return closed_; }  // of the connections
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
      set_peer_options(fd.get());  // without them small messages are delayed
      {
        RawPeer peer(std::move(fd));
        speak_(peer, claim());
      }
      ++closed_;
    }
  }

  const Speak speak_;
  UniqueFd fd_;
  uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> closed_ = 0;
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
  // Requests continuously until `count` requests were sent.
  double seconds_until_asked(uint64_t count) {
    return seconds_of([&] {
      CHECK(wait_until([&] {
        (void)get(1);
        return counters().asked >= count;
      }));
    });
  }
  CachePeersCounters counters() const { return it->counters(); }
  std::vector<std::string> all_warnings() {
    const std::lock_guard lock(mutex);
    return warnings;
  }
};

// Authenticates like a valid server, up to the first get.
inline bool become_known(RawPeer& peer, PeerClaim& claim,
                         FakeAuthority& authority) {
  if (!peer.hear_hello(claim)) return false;
  auto credential = authority.seal(server_claim_text(claim));
  return credential && peer.challenge(claim, *credential) &&
         peer.hear().has_value();
}

// Answers each get with its sample.
inline void serve(RawPeer& peer) {
  while (auto said = peer.hear()) {
    if (said->head.kind != PeerKind::kGet) continue;
    peer.say_sample(PeerKind::kSample, said->head.index,
                    sample_bytes(said->head.index), 3);
  }
}

inline Scripted::Speak good_server(FakeAuthority& authority) {
  return [&authority](RawPeer& peer, PeerClaim claim) {
    if (become_known(peer, claim, authority)) serve(peer);
  };
}

// An authenticated server that answers the first get by `lie`.
inline Scripted::Speak liar(
    FakeAuthority& authority,
    std::function<void(RawPeer& peer, uint64_t index)> lie) {
  return [&authority, lie = std::move(lie)](RawPeer& peer, PeerClaim claim) {
    if (!become_known(peer, claim, authority)) return;
    if (const auto said = peer.hear()) lie(peer, said->head.index);
    (void)peer.is_closed(3000);
  };
}

}  // namespace penstock::test
