// Entries of a layer as ranks send them to each other. All ranks of a job run
// on machines of one byte order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"
#include "exchange/select/select_pass.h"

namespace penstock::exchange {

// What a message is about, so that ranks that have lost each other are told.
struct MessageHead {
  uint32_t layer = 0;
  uint32_t step = 0;
  uint32_t entries = 0;
  uint32_t is_finite = 1;  // 0: the gradient of a rank was not
};

struct SparseView {
  std::span<const uint32_t> indices;
  std::span<const float> values;
};

// Memory for a message of so many entries at most: the head, the values, and
// behind those that there are the indices.
class SparseMessage {
 public:
  static size_t bytes(size_t most_entries) {
    return sizeof(MessageHead) +
           most_entries * (sizeof(float) + sizeof(uint32_t));
  }

  // memory: of at least bytes(most_entries), aligned as a uint32_t is.
  SparseMessage(std::span<std::byte> memory, size_t most_entries)
      : memory_(memory.first(bytes(most_entries))), most_(most_entries) {}

  // To be filled, from the front of both.
  SparseRoom room() const;
  // What was filled becomes a message. Returns its bytes.
  std::span<const std::byte> finish(const MessageHead& head) const;

  std::span<std::byte> memory() const { return memory_; }

  // What was received into the memory: `received` bytes.
  // Errors: kInvalidArgument  it is about something else, or no message that
  //                           fits, or an index is not in [first, first+count)
  [[nodiscard]] Result<SparseView> read(const MessageHead& expected,
                                        size_t received, size_t first,
                                        size_t count) const;
  // REQUIRES: read() gave a view.
  const MessageHead& head() const {
    return *reinterpret_cast<const MessageHead*>(memory_.data());
  }

 private:
  float* values() const {
    return reinterpret_cast<float*>(memory_.data() + sizeof(MessageHead));
  }
  uint32_t* indices(size_t entries) const {
    return reinterpret_cast<uint32_t*>(values() + entries);
  }

  std::span<std::byte> memory_;
  size_t most_;
};

}  // namespace penstock::exchange
