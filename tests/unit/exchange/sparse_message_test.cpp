#include "exchange/sparse/sparse_message.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

constexpr MessageHead kHead{.layer = 3, .step = 7, .entries = 2};

struct Sent {
  std::vector<std::byte> memory =
      std::vector<std::byte>(SparseMessage::bytes(5));
  SparseMessage message{memory, 5};
  size_t bytes = 0;

  Sent() {
    const SparseRoom room = message.room();
    room.indices[0] = 100;
    room.indices[1] = 163;
    room.values[0] = 1.5f;
    room.values[1] = -2;
    bytes = message.finish(kHead).size();
  }
  void set_head(const MessageHead& head) {
    std::memcpy(memory.data(), &head, sizeof head);
  }
  std::string why_not(size_t received, size_t first = 100,
                      size_t count = 64) const {
    const auto read = message.read(kHead, received, first, count);
    return read ? "" : read.error().message;
  }
};

}  // namespace

TEST_CASE("a message has exactly its entries and no further bytes") {
  const Sent sent;
  CHECK(sent.bytes == 16 + 2 * 8);
  const auto view = sent.message.read(kHead, sent.bytes, 100, 64);
  REQUIRE(view);
  CHECK(std::ranges::equal(view->indices, std::vector<uint32_t>{100, 163}));
  CHECK(std::ranges::equal(view->values, std::vector<float>{1.5f, -2}));
  CHECK(sent.message.head().is_finite == 1);
}

TEST_CASE("full and empty messages are read back") {
  std::vector<std::byte> memory(SparseMessage::bytes(3));
  const SparseMessage message(memory, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    message.room().indices[i] = i;
    message.room().values[i] = float(i);
  }
  CHECK(message.finish({.entries = 3}).size() == memory.size());
  CHECK(message.read({}, memory.size(), 0, 3)->values[2] == 2);
  CHECK(message.finish({}).size() == 16);
  CHECK(message.read({}, 16, 0, 0)->values.empty());
}

TEST_CASE("an invalid message is refused with the expected one") {
  Sent sent;
  for (const size_t received :
       {size_t{0}, size_t{15}, sent.bytes - 1, sent.bytes + 1}) {
    CHECK(sent.why_not(received).find("do all ranks have the same layers") !=
          std::string::npos);
  }
  CHECK(sent.why_not(sent.bytes, 101).find("outside 101 to 165") !=
        std::string::npos);
  CHECK(sent.why_not(sent.bytes, 100, 63).find("outside") != std::string::npos);
  MessageHead head = kHead;
  head.step = 8;
  sent.set_head(head);
  CHECK(sent.why_not(sent.bytes)
            .find("is of layer 3, step 8 where layer 3, step 7 was due") !=
        std::string::npos);
  head = kHead;
  head.entries = 0xffffffff;
  sent.set_head(head);
  CHECK(sent.why_not(sent.bytes).find("is none of 5 entries") !=
        std::string::npos);
}
