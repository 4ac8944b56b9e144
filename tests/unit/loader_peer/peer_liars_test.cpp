// A client with servers that send invalid messages.
#include <algorithm>

#include "tests/unit/loader_peer/scripted.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// An invalid message costs at most a late answer's time, is counted and
// reported once, and the node is not asked again.
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

// A server that fails to authenticate.
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

TEST_CASE("invalid answers are refused") {
  const std::vector<uint8_t> sample = sample_bytes(5);
  const char* const unasked = "not the reply to the request";
  SECTION("a sample with another index") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kSample, index + 1, sample, 3);
        },
        unasked);
  }
  SECTION("a miss with another index") {
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
  SECTION("a label that does not match the checksum") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say({PeerKind::kSample, 0, index, 4, peer_checksum(sample, 3)},
                   sample);
        },
        "checksum is wrong");
  }
  SECTION("a length that is too short for a sample") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kSample, index, sample, 3);
        },
        "length or checksum is wrong", sample.size() + 1);
  }
  SECTION("a surplus answer") {
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
        "not a reply");
  }
  SECTION("a sample beyond the size limit") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.begin_sample(index, kMostPeerSampleBytes + 1);
        },
        "not a reply");
  }
  SECTION("the beginning of a sample with another index") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.begin_sample(index + 1, kMostPeerSampleBytes);
        },
        unasked);
  }
  SECTION("the beginning of a sample of an invalid length") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.begin_sample(index, kMostPeerSampleBytes);
        },
        "length or checksum is wrong", sample.size());
  }
  SECTION("a message of clients") {
    check_lie(
        [&](RawPeer& peer, uint64_t index) {
          peer.say_sample(PeerKind::kPut, index, sample, 3);
        },
        unasked);
  }
}

TEST_CASE("answers of an unauthenticated server are refused") {
  FakeAuthority authority, other("somebody else");
  const auto sealed = [&](const std::string& claim) {
    return *authority.seal(claim);
  };
  const char* const wrong = "speaks for another node or port";
  SECTION("another user") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim& claim) {
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
  SECTION("a relayed claim of another node") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          claim.node = "127.0.0.9";
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        wrong);
  }
  SECTION("a relayed claim of another port") {
    check_stranger(
        [&](RawPeer& peer, PeerClaim claim) {
          ++claim.port;
          peer.challenge(claim, sealed(server_claim_text(claim)));
        },
        wrong);
  }
  SECTION("a claim for another connection") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim& claim) {
          PeerClaim before = claim;
          before.client_nonce = random_nonce();
          peer.challenge(claim, sealed(server_claim_text(before)));
        },
        wrong);
  }
  SECTION("a client's claim") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim& claim) {
          peer.challenge(claim, sealed(client_claim_text(claim)));
        },
        wrong);
  }
  SECTION("no credential") {
    check_stranger([&](RawPeer& peer,
                       const PeerClaim& claim) { peer.challenge(claim, "x"); },
                   "no credential");
  }
  SECTION("garbage") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim&) {
          const std::string garbage =
              "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\n";
          peer.say_bytes(garbage.data(), garbage.size());
        },
        "not a reply");
  }
  SECTION("the beginning of a large sample") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim&) {
          peer.begin_sample(5, kMostPeerSampleBytes);
        },
        "not a greeting");
  }
  SECTION("a sample without a challenge") {
    check_stranger(
        [&](RawPeer& peer, const PeerClaim&) {
          peer.say_sample(PeerKind::kSample, 5, sample_bytes(5), 3);
        },
        "not a greeting");
  }
}
