#include "loader/lmdb/mpi/request_sizer.h"

namespace penstock::lmdb {

RequestSizer::RequestSizer(uint64_t limit_bytes) {
  while (count_ < kSizes_bytes.size() && kSizes_bytes[count_] <= limit_bytes) {
    ++count_;
  }
  // One that does well everywhere, should there be little to learn from.
  current_ = count_ > 1 ? 1 : 0;
}

void RequestSizer::observe(uint64_t size_bytes, uint64_t read_bytes,
                           uint64_t taken_ns) {
  if (uses_left_ > 0) {
    if (--uses_left_ == 0) seen_ = {};
    return;
  }
  for (uint32_t i = 0; i < count_; ++i) {
    if (kSizes_bytes[i] != size_bytes) continue;
    seen_[i].bytes += read_bytes;
    seen_[i].ns += taken_ns;
    ++seen_[i].reads;
  }
  if (seen_[current_].reads < kTrials) return;
  for (uint32_t i = 0; i < count_; ++i) {
    if (seen_[i].reads < kTrials) {
      current_ = i;
      return;
    }
  }
  choose_best();
}

void RequestSizer::choose_best() {
  const auto rate = [&](uint32_t i) {
    return static_cast<double>(seen_[i].bytes) /
           static_cast<double>(seen_[i].ns + 1);
  };
  current_ = 0;
  for (uint32_t i = 1; i < count_; ++i) {
    if (rate(i) > rate(current_)) current_ = i;
  }
  uses_left_ = kUses;
}

}  // namespace penstock::lmdb
