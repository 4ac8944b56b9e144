// Messages of entries between ranks. All ranks of a job must have the same byte
// order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"
#include "exchange/select/select_pass.h"

namespace penstock::exchange {

// Identifies a message, so that receivers detect ranks at another layer or
// step.
struct MessageHead {
  uint32_t layer = 0;
  uint32_t step = 0;
  uint32_t entries = 0;
  uint32_t is_finite = 1;  // 0: a rank's gradient was infinite or NaN
};

struct SparseView {
  std::span<const uint32_t> indices;
  std::span<const float> values;
};

// A message of up to most_entries entries, in the caller's memory: the head,
// the values, and directly behind them the indices.
class SparseMessage {
 public:
  static size_t bytes(size_t most_entries) {
    return sizeof(MessageHead) +
           most_entries * (sizeof(float) + sizeof(uint32_t));
  }

  // memory: at least bytes(most_entries) bytes, aligned as a uint32_t.
  SparseMessage(std::span<std::byte> memory, size_t most_entries)
      : memory_(memory.first(bytes(most_entries))), most_(most_entries) {}

  // Buffers to fill, both from the front.
  SparseRoom room() const;
  // Makes a message of the first head.entries entries in room(). Returns its
  // bytes.
  std::span<const std::byte> finish(const MessageHead& head) const;

  std::span<std::byte> memory() const { return memory_; }

  // Reads the message of `received` bytes in the memory.
  // Errors: kInvalidArgument  another layer or step, a wrong size, or an index
  //                           outside of [first, first + count)
  [[nodiscard]] Result<SparseView> read(const MessageHead& expected,
                                        size_t received, size_t first,
                                        size_t count) const;
  // The head in the memory. Its fields are unchecked until read() succeeds.
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
