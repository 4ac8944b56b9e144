// Threads play the ranks; tests with mpirun use processes.
#include "loader/lmdb/mpi/node_ring.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

class Memory {
 public:
  explicit Memory(uint64_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(data_, bytes_); }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  uint64_t bytes_;
  void* data_;
};

Status never() { return Done{}; }

void fill(NodeRing& ring, uint64_t first, uint64_t stride, uint64_t end) {
  for (uint64_t c = first; c < end; c += stride) {
    REQUIRE(ring.wait_free(c, never));
    for (SlotEntry& entry : ring.entries(c)) entry.index = c;
    const bool is_mapped = c % 3 == 0;
    if (!is_mapped) {
      REQUIRE(ring.wait_data_free(c, never));
      ring.data(c)[0] = static_cast<uint8_t>(c);
    }
    ring.publish(c, is_mapped);
  }
}

void take(NodeRing& ring, uint64_t end, uint64_t& wrong) {
  for (uint64_t c = 0; c < end; ++c) {
    if (!ring.wait_full(c, never)) ++wrong;
    for (const SlotEntry& entry : ring.entries(c)) wrong += entry.index != c;
    wrong += ring.is_mapped(c) != (c % 3 == 0);
    if (c % 3 != 0) wrong += ring.data(c)[0] != static_cast<uint8_t>(c);
    ring.done(c);
  }
}

}  // namespace

TEST_CASE("every rank gets every chunk, from several readers") {
  constexpr uint64_t kChunks = 2000;
  const uint32_t slots = GENERATE(3, 16);
  const RingShape shape{4, slots, 3, 5, 4096};
  const Memory memory(shape.window_bytes());
  std::vector<uint64_t> wrong(shape.ranks, 0);
  {
    std::vector<std::jthread> threads;
    for (uint64_t reader = 0; reader < 2; ++reader) {
      threads.emplace_back([&, reader] {
        NodeRing ring(memory.data(), shape);
        fill(ring, reader, 2, kChunks);
      });
    }
    for (uint64_t& count : wrong) {
      threads.emplace_back([&] {
        NodeRing ring(memory.data(), shape);
        take(ring, kChunks, count);
      });
    }
  }
  CHECK(wrong == std::vector<uint64_t>(shape.ranks, 0));
}

TEST_CASE("slots do not share memory") {
  const RingShape shape{1, 3, 3, 100, 8192};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  for (uint64_t c = 0; c < 3; ++c) {
    for (SlotEntry& entry : ring.entries(c)) entry = {c, c, c};
    std::fill(ring.data(c).begin(), ring.data(c).end(),
              static_cast<uint8_t>(c + 1));
  }
  for (uint64_t c = 0; c < 3; ++c) {
    CHECK(ring.entries(c).back().place == c);
    CHECK(ring.data(c).front() == c + 1);
    CHECK(ring.data(c).back() == c + 1);
    CHECK(reinterpret_cast<uintptr_t>(ring.data(c).data()) % 4096 == 0);
  }
}

TEST_CASE("a failure ends waits at once, and the first failure is kept") {
  const RingShape shape{1, 2, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  Status waited = Done{};
  const uint64_t begin_ns = monotonic_ns();
  {
    std::jthread waiter([&] { waited = ring.wait_full(0, never); });
    CHECK(ring.fail(Error{Code::kIo, 5, "first"}));
    CHECK(!ring.fail(Error{Code::kLimit, 0, "second"}));
  }
  REQUIRE(!waited);
  CHECK(waited.error().message == "first");
  CHECK(waited.error().code == Code::kIo);
  CHECK(waited.error().saved_errno == 5);
  CHECK(monotonic_ns() - begin_ns < 2000000000);
}

TEST_CASE("no rank sees a failure before the others are notified") {
  const RingShape shape{1, 2, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  std::atomic<int> told = 0;
  std::jthread second;
  Status seen = Done{};
  int told_when_seen = 0;
  const auto tell = [&] {
    second = std::jthread([&] {
      ring.fail(Error{Code::kLimit, 0, "second"}, [&] { told += 10; });
      // It sees the first failure, not its own, of which no rank is notified.
      seen = ring.state();
      told_when_seen = told;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(ring.state());
    ++told;
  };
  CHECK(ring.fail(Error{Code::kIo, 0, "first"}, tell));
  second.join();
  CHECK(told == 1);
  CHECK(told_when_seen == 1);
  REQUIRE(!seen);
  CHECK(seen.error().message == "first");
}

TEST_CASE("a process killed while notifying the others is not waited for") {
  const RingShape shape{1, 2, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  struct Killed {};
  CHECK_THROWS_AS(
      ring.fail(Error{Code::kIo, 0, "first"}, [] { throw Killed(); }), Killed);
  const uint64_t begin_ns = monotonic_ns();
  CHECK(!ring.fail(Error{Code::kIo, 0, "second"}));
  CHECK(monotonic_ns() - begin_ns < 10000000000);
}

TEST_CASE("a full slot can still be read after a failure") {
  const RingShape shape{1, 2, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  REQUIRE(ring.wait_free(0, never));
  ring.publish(0, false);
  ring.fail(Error{Code::kIo, 0, "later"});
  CHECK(ring.wait_full(0, never));
  CHECK(!ring.wait_full(1, never));
}

TEST_CASE("waits end if the callback returns an error") {
  const RingShape shape{1, 2, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  const auto look = [] { return Status(invalid("gone")); };
  CHECK(ring.wait_full(0, look).error().message == "gone");
  REQUIRE(ring.wait_free(0, look));
  ring.publish(0, false);
  CHECK(ring.wait_free(2, look).error().message == "gone");
}

TEST_CASE("chunks are listed ahead of the data, which wait for their slot") {
  const RingShape shape{1, 4, 2, 1, 4096};
  const Memory memory(shape.window_bytes());
  NodeRing ring(memory.data(), shape);
  const auto look = [] { return Status(invalid("taken")); };
  for (uint64_t c = 0; c < 4; ++c) {
    REQUIRE(ring.wait_free(c, look));
    if (c < 2) CHECK(ring.wait_data_free(c, look));
    ring.publish(c, true);
  }
  CHECK(!ring.wait_data_free(2, look));
  CHECK(!ring.wait_free(4, look));
  ring.done(0);
  CHECK(ring.wait_free(4, look));
  CHECK(ring.wait_data_free(2, look));
  CHECK(!ring.wait_data_free(3, look));
}
