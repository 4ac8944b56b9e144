#include "exchange/sparse/sparse_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace penstock::exchange {

SparseRoom SparseMessage::room() const {
  return {{indices(most_), most_}, {values(), most_}};
}

std::span<const std::byte> SparseMessage::finish(
    const MessageHead& head) const {
  std::memcpy(memory_.data(), &head, sizeof head);
  // In room() the indices lie behind space for most_ values: close the gap.
  std::memmove(indices(head.entries), indices(most_),
               head.entries * sizeof(uint32_t));
  return memory_.first(bytes(head.entries));
}

Result<SparseView> SparseMessage::read(const MessageHead& expected,
                                       size_t received, size_t first,
                                       size_t count) const {
  if (received < sizeof(MessageHead) || head().entries > most_ ||
      received != bytes(head().entries)) {
    return invalid(fmt::format(
        "a message of {} bytes is none of {} entries at most: do all ranks "
        "have the same layers and densities?",
        received, most_));
  }
  if (head().layer != expected.layer || head().step != expected.step) {
    return invalid(fmt::format(
        "a message is of layer {}, step {} where layer {}, step {} was due: "
        "all ranks must submit the same layers in the same order",
        head().layer, head().step, expected.layer, expected.step));
  }
  const std::span<const uint32_t> found(indices(head().entries),
                                        head().entries);
  const bool are_in = std::all_of(found.begin(), found.end(), [&](uint32_t i) {
    return i >= first && i - first < count;
  });
  if (!are_in) {
    return invalid(fmt::format("a message has indices outside {} to {}", first,
                               first + count));
  }
  return SparseView{found, {values(), head().entries}};
}

}  // namespace penstock::exchange
