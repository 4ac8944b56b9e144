// The latest runs of each user's kinds of job, in memory: a prediction at a
// job's arrival must not wait for a disk. Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predictor/profile.h"
#include "select_ext/ctld/history_profile.h"
#include "wire/job_record.h"

namespace penstock {

class EarlierRuns {
 public:
  // Call it once for each run of a kind, in the order in which the runs ended.
  // A run that has not ended, or without usable figures (figures_of()), is
  // ignored.
  void add(const JobRecord& record);

  // nullopt: the user has no usable run of this kind (job_kind()).
  std::optional<Profile> profile_for(uint32_t uid,
                                     const std::string& kind) const;

  size_t kinds() const { return runs_.size(); }

  // Beyond this limit the kind without a new run for the longest time is
  // evicted.
  static constexpr size_t kMaxKinds = 100'000;

 private:
  using Key = std::pair<uint32_t, std::string>;  // user and kind
  struct Runs {
    std::vector<RunFigures> latest;  // the newest last
    uint64_t added = 0;              // running number of the latest run
  };

  std::map<Key, Runs> runs_;
  std::map<uint64_t, std::map<Key, Runs>::iterator> by_age_;
  uint64_t count_ = 0;
};

}  // namespace penstock
