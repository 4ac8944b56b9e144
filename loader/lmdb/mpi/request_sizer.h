// Which size of requests a storage serves fastest, learnt from the reads
// themselves. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::lmdb {

class RequestSizer {
 public:
  static constexpr std::array<uint64_t, 4> kSizes_bytes{256 << 10, 1 << 20,
                                                        4 << 20, 8 << 20};
  // Each size is tried so often, then the best is used for so many reads
  // before all are tried again.
  static constexpr uint32_t kTrials = 2;
  static constexpr uint32_t kUses = 256;

  uint64_t next_bytes() const { return kSizes_bytes[current_]; }
  // Of a read with requests of next_bytes() as it was then. REQUIRES: size is
  // one of kSizes_bytes.
  void observe(uint64_t size_bytes, uint64_t read_bytes, uint64_t taken_ns);

 private:
  void choose_best();

  struct Seen {
    uint64_t bytes = 0;
    uint64_t ns = 0;
    uint32_t reads = 0;
  };
  std::array<Seen, kSizes_bytes.size()> seen_{};
  // One that does well everywhere, should there be little to learn from.
  uint32_t current_ = 1;
  uint32_t uses_left_ = 0;  // 0: trying
};

}  // namespace penstock::lmdb
