// What another node says: the same frames come out however the stream is cut,
// each with a length that its kind has, and no memory is taken for what a head
// only promises.
#include <algorithm>
#include <string>
#include <vector>

#include "loader/peer/peer_wire.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

// The frames, and whether the stream ended in an error.
struct Heard {
  std::vector<std::string> frames;
  bool is_broken = false;
  bool operator==(const Heard&) const = default;
};

bool is_skipped(const PeerHead& head) {
  return head.kind == PeerKind::kPut && head.label % 2 != 0;
}

void take_all(PeerInput& input, Heard& heard) {
  while (true) {
    auto frame = input.next();
    if (!frame) {
      heard.is_broken = true;
      return;
    }
    if (!*frame) break;
    const PeerHead& head = (*frame)->head;
    FUZZ_CHECK((*frame)->body.size() == head.bytes);
    FUZZ_CHECK(head.bytes <= kMostPeerSampleBytes);
    const PeerHeadBytes bytes = encode_peer_head(head);
    FUZZ_CHECK(parse_peer_head(bytes));
    if (is_skipped(head)) continue;
    std::string text(bytes.begin(), bytes.end());
    text.append((*frame)->body.begin(), (*frame)->body.end());
    heard.frames.push_back(std::move(text));
  }
  if (input.begun() && is_skipped(*input.begun())) input.skip_begun();
}

Heard hear(const uint8_t* data, size_t size, size_t step) {
  Heard heard;
  PeerInput input;
  for (size_t done = 0; done < size && !heard.is_broken;) {
    const auto room = input.room();
    FUZZ_CHECK(!room.empty());
    FUZZ_CHECK(room.size() <= 4 * size + (256 << 10));
    const size_t count = std::min({room.size(), size - done, step});
    std::copy_n(data + done, count, room.begin());
    input.add(count);
    done += count;
    take_all(input, heard);
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Heard whole = hear(data, size, size);
  for (const size_t step : {size_t{1}, size_t{7}, size_t{33}, size_t{1000}}) {
    FUZZ_CHECK(hear(data, size, step) == whole);
  }
  return 0;
}
