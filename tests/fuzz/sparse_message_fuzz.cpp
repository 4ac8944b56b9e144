// What another rank sends: a view is of the message's own entries, within the
// region, and anything else is an error that says what was due.
#include <algorithm>
#include <cstring>
#include <vector>

#include "exchange/sparse/sparse_message.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock::exchange;

namespace {

// In front of the message: what the receiver expects of it.
struct Expected {
  uint32_t layer, step, first, count;
  uint32_t most_entries, received;
};
constexpr size_t kMostEntries = 1024;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Expected expected{};
  if (size < sizeof expected) return 0;
  std::memcpy(&expected, data, sizeof expected);
  data += sizeof expected;
  size -= sizeof expected;

  const size_t most = expected.most_entries % (kMostEntries + 1);
  // As long as it may be and no longer, so that reading beyond is seen.
  std::vector<std::byte> memory(SparseMessage::bytes(most));
  std::memcpy(memory.data(), data, std::min(size, memory.size()));
  const SparseMessage message(memory, most);
  // Transports refuse what is longer than the memory.
  const size_t received = expected.received % (memory.size() + 1);
  const MessageHead due{.layer = expected.layer, .step = expected.step};

  const auto view = message.read(due, received, expected.first, expected.count);
  if (!view) {
    FUZZ_CHECK(!view.error().message.empty());
    return 0;
  }
  const MessageHead& head = message.head();
  FUZZ_CHECK(head.layer == due.layer && head.step == due.step);
  FUZZ_CHECK(view->indices.size() == head.entries && head.entries <= most);
  const std::vector<float> values(view->values.begin(), view->values.end());
  FUZZ_CHECK(values.size() == head.entries);
  FUZZ_CHECK(received == SparseMessage::bytes(head.entries));
  for (size_t i = 0; i < view->indices.size(); ++i) {
    FUZZ_CHECK(view->indices[i] >= expected.first);
    FUZZ_CHECK(view->indices[i] - expected.first < expected.count);
  }
  return 0;
}
