// Which samples a loader reads, where it is being measured: a dataset's own
// stream, that stream read cold, or a subset of it over and over. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/loader/epoch_order.h"
#include "penstock/loader/read_mode.h"

namespace penstock {

struct Feed {
  uint64_t subset_samples = 0;  // of the first epoch's order; 0: all, in turn
  bool cold = false;            // read from storage, whatever is cached
};

struct FeedSample {
  uint64_t epoch = 0;  // or round of the subset
  uint64_t index = 0;
  SampleSource source = SampleSource::kUsual;
};

// The sample at a position of a feed's stream. count: of the dataset.
inline FeedSample sample_of(const Feed& feed, const EpochOrder& order,
                            uint64_t count, uint64_t position) {
  const bool all = feed.subset_samples == 0;
  const uint64_t size = all ? count : std::min(count, feed.subset_samples);
  const uint64_t round = position / size;
  const uint64_t place = position % size;
  const SampleSource warm = all ? SampleSource::kUsual : SampleSource::kMemory;
  return {round, order.sample_at(all ? round : 0, place),
          feed.cold ? SampleSource::kStorage : warm};
}

// The feeds of a stream, each from a position on.
class FeedPlan {
 public:
  // REQUIRES: from does not fall from call to call.
  void add(uint64_t from, const Feed& feed) {
    plan_.push_back({from, feed});
    // Nobody asks for what lies that far back.
    if (plan_.size() > kKept) plan_.erase(plan_.begin());
  }
  // The dataset's own before the first.
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
