// Memory after received samples, and samples that do not fit into memory. Not
// with a sanitizer, which has its own allocator.
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_peer/scripted.h"
#include "tests/unit/loader_peer/served.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr size_t kLarge_bytes = 48 << 20;

// Makes free() return large blocks to the kernel at once, and leaves threads
// without arenas of their own.
const bool has_plain_malloc =
    ::mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1 && ::mallopt(M_ARENA_MAX, 1) == 1;

// "RssAnon" (private memory of this process) or "VmSize".
uint64_t status_bytes(const std::string& what) {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kib = 0;
  while (status >> word && word != what + ":") {
  }
  REQUIRE(status >> kib);
  return kib << 10;
}

// Limits this process to `bytes` more; then allocations throw std::bad_alloc.
void leave_memory(uint64_t bytes) {
  const rlim_t most = status_bytes("VmSize") + bytes;
  const rlimit limit{most, most};
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
}

// Runs `work` in a process with limited memory, with a node whose sample 1 is
// large. Returns whether the client still gets samples afterwards.
bool asks_on(uint64_t memory_bytes,
             const std::function<bool(Client& client)>& work) {
  REQUIRE(has_plain_malloc);
  return in_child([&] {
           FakeAuthority authority;
           const std::vector<uint8_t> large(kLarge_bytes, 1), small(10, 1);
           const Scripted scripted([&](RawPeer& peer, PeerClaim claim) {
             if (!become_known(peer, claim, authority)) return;
             while (const auto said = peer.hear()) {
               const uint64_t index = said->head.index;
               peer.say_sample(PeerKind::kSample, index,
                               index == 1 ? large : small, 3);
             }
           });
           Client client({scripted.port()});
           client.options.answer_ns = 10000 * kMs_ns;
           client.start();
           if (!client.get(2)) ::_exit(1);
           leave_memory(memory_bytes);
           if (!work(client)) ::_exit(2);
           if (!wait_until([&] { return client.get(2); })) ::_exit(3);
           ::_exit(0);
         }) == 0;
}

}  // namespace

TEST_CASE("large samples given by clients leave no memory in use") {
  Served test;
  test.start();
  const std::vector<uint8_t> large(40 << 20, 5);
  std::vector<RawPeer> peers;
  const uint64_t before = status_bytes("RssAnon");
  for (uint64_t i = 0; i < 6; ++i) {
    peers.push_back(test.client());
    REQUIRE(peers[i].say_sample(PeerKind::kPut, i, large, 1));
    REQUIRE(wait_until([&] { return test.server->taken() == i + 1; }));
  }
  CHECK(wait_until(
      [&] { return status_bytes("RssAnon") < before + 3 * large.size(); }, 2));
}

TEST_CASE("without memory a sample is not received, and the client continues") {
  const auto cannot_have = [](Client& client) { return !client.get(1); };
  // Without memory for receiving, and without memory for the result.
  CHECK(asks_on(kLarge_bytes / 3, cannot_have));
  CHECK(asks_on(kLarge_bytes * 11 / 6, cannot_have));
}

TEST_CASE("without memory a sample is not given") {
  const std::vector<uint8_t> large(kLarge_bytes, 1);
  CHECK(asks_on(kLarge_bytes / 3, [&](Client& client) {
    client.it->put(1, 1, large, 3);
    return client.counters().dropped == 1;
  }));
}
