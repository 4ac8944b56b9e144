// The latest runs of each kind of job of each user, in memory: a prediction at
// arrival waits for no disk. Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predictor/profile.h"
#include "select_ext/ctld/history_profile.h"
#include "select_ext/ctld/job_record.h"

namespace penstock {

class EarlierRuns {
 public:
  // To be called for the runs of a kind in the order in which they ended, once
  // for each. A record of a run that has not ended, or that teaches nothing
  // (figures_of()), is left out.
  void add(const JobRecord& record);

  // nullopt: the user has no run of the kind (job_kind()) that teaches.
  std::optional<Profile> profile_for(uint32_t uid,
                                     const std::string& kind) const;

  size_t kinds() const { return runs_.size(); }

  // Beyond it the kind is forgotten that had no new run for the longest time.
  static constexpr size_t kMaxKinds = 100'000;

 private:
  using Key = std::pair<uint32_t, std::string>;  // user and kind
  struct Runs {
    std::vector<RunFigures> latest;  // the newest last
    uint64_t added = 0;              // number of the last one among all
  };

  std::map<Key, Runs> runs_;
  std::map<uint64_t, std::map<Key, Runs>::iterator> by_age_;
  uint64_t count_ = 0;
};

}  // namespace penstock
