#include "node_agent/page_sums.h"

#include <algorithm>

namespace penstock {

#define NOTHING PENSTOCK_PROGRESS_NOTHING

void PageCounters::add(const Progress& page) {
#define ADD(name) name += double(page.name);
  PENSTOCK_PROGRESS_FIELDS(NOTHING, ADD, NOTHING, NOTHING)
#undef ADD
}

PageCounters PageCounters::since(const PageCounters& earlier) const {
  PageCounters grown = *this;
#define SUBTRACT(name) grown.name -= earlier.name;
  PENSTOCK_PROGRESS_FIELDS(NOTHING, SUBTRACT, NOTHING, NOTHING)
#undef SUBTRACT
  return grown;
}

#undef NOTHING

namespace {

double active_s_of(const Progress& page) {
  return double(page.updated_ns - std::min(page.updated_ns, page.started_ns)) *
         1e-9;
}

RankWait wait_of(const Progress& page, const RankId& rank) {
  const double share = double(page.wait_ns) * 1e-9 / active_s_of(page);
  RankWait wait{rank, std::min(1.0, share), {}};
  wait.counted.add(page);
  return wait;
}

}  // namespace

void PageSums::add(const Progress& page, const RankId& rank) {
  Progress bounded = page;
  bounded.peer = std::min(page.peer, page.cached);
  bounded.peer_bytes = std::min(page.peer_bytes, page.cached_bytes);
  counted.add(bounded);
  ranks += 1;
  first_ns =
      first_ns == 0 ? page.started_ns : std::min(first_ns, page.started_ns);
  last_ns = std::max(last_ns, page.updated_ns);
  active_s += active_s_of(page);
  if (active_s_of(page) >= kWatched_s) {
    const RankWait wait = wait_of(page, rank);
    if (!slowest || slowest->share < wait.share) slowest = wait;
  }
  if (page.data_samples > 0 && page.cache_samples > 0) {
    held_samples = double(std::min(page.cache_samples, page.data_samples));
    held_share = held_samples / double(page.data_samples);
  }
  replaying = replaying || page.replaying;
}

double PageSums::ranks_at_once() const {
  const double span_s = double(last_ns - std::min(last_ns, first_ns)) * 1e-9;
  return span_s > 0 ? std::max(1.0, active_s / span_s) : 1.0;
}

}  // namespace penstock
