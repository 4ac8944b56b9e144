#include "select_ext/ctld/terms.h"

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

// Wait after the first node is heard: others may know a newer term.
constexpr double kGather_s = 1;

template <class Statements, class IsSuch>
bool most_are(const Statements& said, const IsSuch& is_such) {
  const auto such = std::count_if(said.begin(), said.end(), is_such);
  return 2 * size_t(such) > said.size();
}

}  // namespace

Terms::Terms(unsigned place, double timeout_s, uint64_t own_term)
    : place_(place),
      timeout_s_(timeout_s),
      own_term_(own_term),
      may_resume_(own_term != 0) {}

void Terms::heard(const std::string& node, uint64_t term, double silence_s,
                  double now_s) {
  if (first_heard_s_ < 0) first_heard_s_ = now_s;
  const auto [at, is_new] = statements_.try_emplace(node);
  const double since_s =
      is_new || at->second.term != term ? now_s : at->second.since_s;
  at->second = {term, since_s, silence_s, now_s};
}

std::vector<Terms::Statement> Terms::votes(double now_s) const {
  std::vector<Statement> recent;
  for (const auto& [node, said] : statements_) {
    if (now_s - said.heard_s <= timeout_s_) recent.push_back(said);
  }
  return recent;
}

bool Terms::is_outdated(double now_s) const {
  return is_active() && most_are(votes(now_s), [&](const Statement& said) {
           return said.term > term_ && said.silence_s < timeout_s_;
         });
}

bool Terms::should_begin(double now_s) const {
  const std::vector<Statement> said = votes(now_s);
  if (is_active()) {
    const uint64_t limit = highest_plausible(said);
    return std::any_of(said.begin(), said.end(), [&](const Statement& it) {
      return it.term > term_ && it.term <= limit &&
             now_s - it.since_s >= timeout_s_;
    });
  }
  if (said.empty() || now_s < not_before_s_ ||
      now_s - first_heard_s_ < kGather_s) {
    return false;
  }
  const auto knows_none = [](const Statement& it) { return it.term == 0; };
  const bool is_first = std::all_of(said.begin(), said.end(), knows_none);
  // A node without a term reports no silence. For a first term each place waits
  // another time-out, so that the primary comes first; else the node was
  // rebooted, and a living holder has a time-out to grant it something.
  const double wait_s = (place_ + (is_first ? 0 : 1)) * timeout_s_;
  const auto is_silent = [&](const Statement& it) {
    return knows_none(it) ? now_s - it.since_s >= wait_s
                          : it.silence_s >= timeout_s_;
  };
  // Nodes that have not got our last term's grant know an older one.
  const auto knows_no_newer = [&](const Statement& it) {
    return it.term <= own_term_;
  };
  return (may_resume_ && most_are(said, knows_no_newer)) ||
         most_are(said, is_silent);
}

// Of an even number of votes the lower middle one counts: half of them may lie.
uint64_t Terms::highest_plausible(const std::vector<Statement>& said) const {
  std::vector<uint64_t> terms;
  for (const Statement& statement : said) terms.push_back(statement.term);
  uint64_t base = own_term_;
  if (!terms.empty()) {
    const auto middle =
        terms.begin() + static_cast<std::ptrdiff_t>((terms.size() - 1) / 2);
    std::nth_element(terms.begin(), middle, terms.end());
    base = std::max(base, std::min(*middle, kMostReported));
  }
  uint64_t highest = base;
  for (const auto& [node, statement] : statements_) {
    if (statement.term > base && statement.term - base <= kMaxStep) {
      highest = std::max(highest, statement.term);
    }
  }
  return highest;
}

uint64_t Terms::begin(double now_s) {
  const uint64_t highest = highest_plausible(votes(now_s));
  term_ = (highest / kPlaces + 1) * kPlaces + place_;
  own_term_ = term_;
  may_resume_ = true;
  return term_;
}

void Terms::step_down(double now_s) {
  if (!is_active()) return;
  term_ = 0;
  may_resume_ = false;  // another controller has a newer term
  not_before_s_ = now_s + timeout_s_;
}

}  // namespace penstock
