#include "loader/lmdb/mpi/request_sizer.h"

namespace penstock::lmdb {

void RequestSizer::observe(uint64_t size_bytes, uint64_t read_bytes,
                           uint64_t taken_ns) {
  if (uses_left_ > 0) {
    if (--uses_left_ == 0) seen_ = {};
    return;
  }
  for (uint32_t i = 0; i < kSizes_bytes.size(); ++i) {
    if (kSizes_bytes[i] != size_bytes) continue;
    seen_[i].bytes += read_bytes;
    seen_[i].ns += taken_ns;
    ++seen_[i].reads;
  }
  if (seen_[current_].reads < kTrials) return;
  for (uint32_t i = 0; i < kSizes_bytes.size(); ++i) {
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
  for (uint32_t i = 1; i < kSizes_bytes.size(); ++i) {
    if (rate(i) > rate(current_)) current_ = i;
  }
  uses_left_ = kUses;
}

}  // namespace penstock::lmdb
