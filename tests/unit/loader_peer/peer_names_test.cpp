// Slow name lookups: this program overrides getaddrinfo(3).
#include <netdb.h>

#include "tests/unit/loader_peer/scripted.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr const char* kHangs = "node-that-hangs";
constexpr const char* kKnown = "node-that-is-known";

std::atomic<int> asked_names = 0;  // lookups of kHangs
std::atomic<bool> names_hang = false;

}  // namespace

extern "C" int getaddrinfo(const char* node, const char*, const addrinfo*,
                           addrinfo** found) {
  if (std::string(node) == kHangs) {
    ++asked_names;
    wait_until([] { return !names_hang; });
    return EAI_AGAIN;
  }
  auto* const at = new sockaddr_in{};
  at->sin_family = AF_INET;
  at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const one = new addrinfo{};
  one->ai_addr = reinterpret_cast<sockaddr*>(at);
  one->ai_addrlen = sizeof *at;
  *found = one;
  return 0;
}

extern "C" void freeaddrinfo(addrinfo* found) {
  delete reinterpret_cast<sockaddr_in*>(found->ai_addr);
  delete found;
}

TEST_CASE("a hanging name lookup delays no other node and is made once") {
  names_hang = true;
  asked_names = 0;
  FakeAuthority authority;
  // Each connection serves one request, so that each request needs a proof.
  const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
    claim.node = kKnown;
    if (!become_known(peer, claim, authority)) return;
    const auto said = peer.hear();
    if (said) peer.say_sample(PeerKind::kSample, said->head.index, {1, 2}, 3);
  });
  Client client({scripted.port()});
  auto started =
      PeerClient::start({"self", kKnown, kHangs}, client.options, {});
  REQUIRE(started);
  std::vector<uint8_t> sample;
  int64_t label = 0;
  const auto has = [&](size_t node) {
    return (*started)->get(node, 1, sample, label);
  };
  REQUIRE(has(1));
  // The lookup hangs for as long as the test lets it.
  CHECK(seconds_of([&] { CHECK_FALSE(has(2)); }) < 3);
  CHECK(asked_names == 1);
  const auto asked = [&] { return (*started)->counters().asked; };
  const uint64_t before = asked();
  // Retried twice, after 1 s and 2 s.
  CHECK(wait_until([&] {
    CHECK_FALSE(has(2));
    return asked() == before + 2;
  }));
  // A request that meets the server's close on its way would be lost.
  const auto has_known = [&] {
    return wait_until(
               [&] { return scripted.closed() == scripted.connections(); }) &&
           has(1);
  };
  CHECK(has_known());
  CHECK(has_known());
  names_hang = false;
  // Only one further lookup is made, not one per earlier request.
  CHECK(wait_until([&] {
    (void)has(2);
    return asked_names == 2;
  }));
  CHECK(seconds_of([&] { started->reset(); }) < 0.5);
}
