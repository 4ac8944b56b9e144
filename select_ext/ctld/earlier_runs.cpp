#include "select_ext/ctld/earlier_runs.h"

namespace penstock {

void EarlierRuns::add(const JobRecord& record) {
  const std::optional<RunFigures> figures = figures_of(record);
  if (!figures || !record.end_unix_s) return;
  const auto kind = runs_.try_emplace({record.uid, record.kind}).first;
  Runs& runs = kind->second;
  by_age_.erase(runs.added);
  runs.added = ++count_;
  by_age_[runs.added] = kind;
  if (runs.latest.size() == size_t(kMaxRunsOfProfile)) {
    runs.latest.erase(runs.latest.begin());
  }
  runs.latest.push_back(*figures);
  if (runs_.size() <= kMaxKinds) return;
  runs_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
}

std::optional<Profile> EarlierRuns::profile_for(uint32_t uid,
                                                const std::string& kind) const {
  const auto found = runs_.find({uid, kind});
  if (found == runs_.end()) return std::nullopt;
  return profile_of_runs(found->second.latest, "earlier runs");
}

}  // namespace penstock
