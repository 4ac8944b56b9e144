// The samples and sources of a stream whose feed changes. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/loader/feed.h"
#include "penstock/loader/read_mode.h"
#include "penstock/loader/sampler.h"

namespace penstock {

struct FeedSample {
  uint64_t epoch = 0;  // or pass over the subset
  uint64_t index = 0;
  SampleSource source = SampleSource::kUsual;
};

// The sample at a position of a feed's stream.
inline FeedSample sample_of(const Feed& feed, const EpochSampler& sampler,
                            uint64_t position) {
  const SampleSource cold =
      feed.cold ? SampleSource::kStorage : SampleSource::kUsual;
  if (feed.subset_samples == 0) {
    const auto [epoch, index] = sampler.sample_at(position);
    return {epoch, index, cold};
  }
  const uint64_t size =
      std::min(sampler.samples_per_epoch(), feed.subset_samples);
  return {position / size, sampler.sample_at(position % size).index,
          feed.cold ? cold : SampleSource::kMemory};
}

// The feeds of a stream, with the position from which each is valid.
class FeedPlan {
 public:
  // REQUIRES: from is not less than in earlier calls.
  void add(uint64_t from, const Feed& feed) {
    plan_.push_back({from, feed});
    // Positions that old are not queried any more.
    if (plan_.size() > kKept) plan_.erase(plan_.begin());
  }
  // Before the first feed: the whole dataset.
  Feed at(uint64_t position) const {
    for (auto entry = plan_.rbegin(); entry != plan_.rend(); ++entry) {
      if (position >= entry->from) return entry->feed;
    }
    return {};
  }

 private:
  static constexpr size_t kKept = 8;
  struct Entry {
    uint64_t from;
    Feed feed;
  };
  std::vector<Entry> plan_;
};

}  // namespace penstock
