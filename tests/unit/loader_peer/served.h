// A server, and clients whose messages the test determines.
#pragma once

#include "loader/peer/peer_server.h"
#include "tests/unit/loader_peer/raw_peer.h"

namespace penstock::test {

struct Served {
  static constexpr uint64_t kSamples = 100;
  static constexpr const char* kHost = "127.0.0.2";

  CacheCase folder;
  std::shared_ptr<SampleCache> cache;
  std::shared_ptr<FakeAuthority> authority = std::make_shared<FakeAuthority>();
  std::vector<std::string> warnings;
  std::unique_ptr<PeerServer> server;

  Served() { cache = folder.open(kSamples, {.most_bytes = kManyBytes}); }
  ~Served() {
    server.reset();
    cache.reset();
  }
  void start(const std::vector<uint16_t>& ports = {test_port(0), test_port(1),
                                                   test_port(2)}) {
    auto started =
        PeerServer::start(cache, authority, {kHost, kHost, ports, {}});
    REQUIRE(started);
    server = *std::move(started);
    REQUIRE(wait_until([&] { return server->port() != 0; }));
  }
  PeerClaim claim() const {
    return {{}, {}, 7, kSamples, kHost, server->port()};
  }
  RawPeer connect() const { return RawPeer::connect(kHost, server->port()); }
  // An authenticated client.
  RawPeer client() const {
    RawPeer peer = connect();
    PeerClaim own = claim();
    REQUIRE(peer.greet(own));
    REQUIRE(peer.prove(*authority->seal(client_claim_text(own))));
    return peer;
  }
  bool still_serves() const {
    RawPeer peer = client();
    if (!peer.say({PeerKind::kGet, 0, 1})) return false;
    return peer.hear().has_value();
  }
};

}  // namespace penstock::test
