// Sums over the progress pages of a job's ranks. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "node_agent/pages.h"

namespace penstock {

// The counters of the page (common/page.h), each in its unit there.
struct PageCounters {
#define PENSTOCK_SUM(name) double name = 0;
  PENSTOCK_PROGRESS_FIELDS(PENSTOCK_PROGRESS_NOTHING, PENSTOCK_SUM,
                           PENSTOCK_PROGRESS_NOTHING, PENSTOCK_PROGRESS_NOTHING)
#undef PENSTOCK_SUM

  void add(const Progress& page);
  PageCounters since(const PageCounters& earlier) const;

  double fetch_s() const { return fetch_ns * 1e-9; }
  double prep_s() const { return prep_ns * 1e-9; }
  // Whether the loader tells these two apart.
  bool tells_loading() const { return fetch_ns + prep_ns > 0; }
};

// A process of a task: torchrun starts several.
struct RankId {
  uint32_t task = 0;     // Slurm's number
  uint32_t process = 0;  // of the task, in the order of its pages
};

struct RankWait {
  RankId rank;
  double share = 0;  // of its time, waited for data
  PageCounters counted;
};

struct PageSums {
  PageCounters counted;
  double ranks = 0;
  uint64_t first_ns = 0;    // the earliest start of watching
  uint64_t last_ns = 0;     // the newest update
  double active_s = 0;      // from the start of watching to the last update
  double held_share = 0;    // cached share of the data set, as in the
  double held_samples = 0;  // last page that reports it
  bool replaying = false;
  // The rank that waits the largest share of its time, of those watched for
  // kWatched_s at least.
  std::optional<RankWait> slowest;
  static constexpr double kWatched_s = 10;

  void add(const Progress& page, const RankId& rank = {});
  // Mean number of ranks that reported at the same time, at least 1. Ranks may
  // start late, end early, or follow each other.
  double ranks_at_once() const;
};

}  // namespace penstock
