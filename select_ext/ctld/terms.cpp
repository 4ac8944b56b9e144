#include "select_ext/ctld/terms.h"

#include <algorithm>

namespace penstock {
namespace {

// Wait after the first agent is heard: others may know a newer term.
constexpr double kGather_s = 1;

}  // namespace

Terms::Terms(unsigned place, double timeout_s, uint64_t own_term)
    : place_(place),
      timeout_s_(timeout_s),
      own_term_(own_term),
      highest_(own_term) {}

bool Terms::heard(const std::string& node, uint64_t term, double silence_s,
                  double now_s) {
  if (first_heard_s_ < 0) first_heard_s_ = now_s;
  statements_[node] = {term, silence_s, now_s};
  return refused(term);
}

bool Terms::refused(uint64_t highest_term) {
  highest_ = std::max(highest_, highest_term);
  return is_active() && highest_ > term_;
}

bool Terms::should_begin(double now_s) const {
  if (is_active() || now_s < not_before_s_) return false;
  uint64_t newest = 0;
  bool any = false;
  bool all_silent = true;
  for (const auto& [node, said] : statements_) {
    if (now_s - said.heard_s > timeout_s_) continue;
    any = true;
    newest = std::max(newest, said.term);
    // An agent that never had a controller reports no silence. Each place waits
    // another time-out, so that the primary comes first.
    const double limit_s = said.term == 0 ? place_ * timeout_s_ : timeout_s_;
    const double silence_s =
        (said.term == 0 ? now_s - first_heard_s_ : said.silence_s);
    all_silent = all_silent && silence_s >= limit_s;
  }
  if (!any || now_s - first_heard_s_ < kGather_s) return false;
  const bool resumes = own_term_ != 0 && newest == own_term_;
  return resumes || all_silent;
}

uint64_t Terms::begin() {
  term_ = (highest_ / kPlaces + 1) * kPlaces + place_;
  highest_ = own_term_ = term_;
  return term_;
}

void Terms::step_down(double now_s) {
  if (!is_active()) return;
  term_ = 0;
  own_term_ = 0;  // another controller has a newer term: do not resume ours
  not_before_s_ = now_s + timeout_s_;
}

}  // namespace penstock
