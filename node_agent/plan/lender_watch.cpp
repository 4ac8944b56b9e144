#include "node_agent/plan/lender_watch.h"

#include <cmath>

namespace penstock {
namespace {

// Standard deviations that count as significant. A loan is judged every second,
// by the means of five or more figures. With two standard deviations, chance
// ended five of sixty loans of one minute (white noise; a real machine's noise
// comes in bursts).
constexpr double kChance = 4;

double mean(const std::deque<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0.0 : sum / double(values.size());
}

double variance_of_mean(const std::deque<double>& values) {
  if (values.size() < 2) return 0.0;
  const double middle = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - middle) * (value - middle);
  const double n = double(values.size());
  return squares / (n - 1) / n;
}

void keep_last(std::deque<double>& values, double value, size_t kept) {
  values.push_back(value);
  if (values.size() > kept) values.pop_front();
}

}  // namespace

double LenderWatch::unlent_figure() const { return mean(unlent_); }
double LenderWatch::lent_figure() const { return mean(lent_); }

LenderWatch::Verdict LenderWatch::look(const Look& look) {
  if (!first_look_s_) first_look_s_ = look.now_s;
  is_idle_ = look.is_idle;
  const bool is_used = look.lent_cpu_s > lent_cpu_s_;
  lent_cpu_s_ = look.lent_cpu_s;
  if (look.figure && look.is_rate != is_rate_) {
    is_rate_ = look.is_rate;  // rates and shares cannot be compared
    unlent_.clear();
    lent_.clear();
  }
  if (!look.lent) forget_loan();
  if (look.figure && look.lent) keep_last(uses_, is_used ? 1 : 0, kUnlentKept);
  if (!look.lent || !is_used) {
    if (look.figure) keep_last(unlent_, *look.figure, kUnlentKept);
    return Verdict::kGoOn;
  }
  if (look.figure) {
    keep_last(lent_, *look.figure, kJudged);
    used_without_guest_ = look.to_guest ? 0 : used_without_guest_ + 1;
  }
  if (lent_.size() < kJudged) return Verdict::kGoOn;
  if (unlent_.size() < kBaseline) {
    lent_.clear();
    first_look_s_ = look.now_s;
    return Verdict::kMeasure;
  }
  const double loss = unlent_figure() - lent_figure();
  const double chance =
      kChance * std::sqrt(variance_of_mean(unlent_) + variance_of_mean(lent_));
  const bool is_small = loss * mean(uses_) <= (1 - kSuffers) * unlent_figure();
  if (is_small || loss <= chance) {
    return Verdict::kGoOn;
  }
  if (used_without_guest_ < kJudged) {
    guests_barred_until_s_ = look.now_s + kBarred_s;
    forget_loan();
    return Verdict::kSuffersFromGuests;
  }
  barred_until_s_ = look.now_s + kBarred_s;
  // Guests may not have been the cause before; the next verdict is on others.
  guests_barred_until_s_ = barred_until_s_ + kBarred_s;
  // Starts a new baseline, because the job may have become slower by itself.
  unlent_.clear();
  lent_.clear();
  return Verdict::kSuffers;
}

void LenderWatch::forget_loan() {
  lent_.clear();
  uses_.clear();
  used_without_guest_ = kJudged;
}

bool LenderWatch::may_lend_to_guests(double now_s) const {
  return now_s >= guests_barred_until_s_ && may_lend(now_s);
}

bool LenderWatch::may_lend(double now_s) const {
  if (now_s < barred_until_s_) return false;
  if (is_idle_ || unlent_.size() >= kBaseline || !lent_.empty()) return true;
  return first_look_s_ && now_s - *first_look_s_ >= kPatience_s;
}

}  // namespace penstock
