// Learns from reads which request size the storage serves fastest. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::lmdb {

class RequestSizer {
 public:
  static constexpr std::array<uint64_t, 4> kSizes_bytes{256 << 10, 1 << 20,
                                                        4 << 20, 8 << 20};
  // Each size is tried kTrials times. Then the best is used for kUses reads,
  // and all are tried again.
  static constexpr uint32_t kTrials = 2;
  static constexpr uint32_t kUses = 256;

  uint64_t next_bytes() const { return kSizes_bytes[current_]; }
  // Records a read. size_bytes: next_bytes() at that time, one of kSizes_bytes.
  void observe(uint64_t size_bytes, uint64_t read_bytes, uint64_t taken_ns);

 private:
  void choose_best();

  struct Seen {
    uint64_t bytes = 0;
    uint64_t ns = 0;
    uint32_t reads = 0;
  };
  std::array<Seen, kSizes_bytes.size()> seen_{};
  // Starts with 1 MiB, which does well on any storage.
  uint32_t current_ = 1;
  uint32_t uses_left_ = 0;  // 0: trying
};

}  // namespace penstock::lmdb
