#include "select_ext/ctld/earlier_runs.h"

namespace penstock {

void EarlierRuns::add(const JobRecord& record) {
  const std::optional<RunFigures> figures = figures_of(record);
  if (!figures || !record.end_unix_s) return;
  const Key key(record.uid, record.kind);
  Runs& runs = runs_[key];
  by_age_.erase({runs.added, key});
  runs.added = ++count_;
  by_age_.insert({runs.added, key});
  runs.latest.push_back(*figures);
  if (runs.latest.size() > size_t(kMaxRunsOfProfile)) runs.latest.pop_front();
  if (runs_.size() <= kMaxKinds) return;
  runs_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
}

std::optional<Profile> EarlierRuns::profile_for(uint32_t uid,
                                                const std::string& kind) const {
  const auto found = runs_.find({uid, kind});
  if (found == runs_.end()) return std::nullopt;
  const std::deque<RunFigures>& latest = found->second.latest;
  return profile_of_runs({latest.begin(), latest.end()}, "earlier runs");
}

}  // namespace penstock
