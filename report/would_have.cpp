#include "report/would_have.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/core_advice.h"
#include "report/report.h"
#include "report/text.h"

namespace penstock {
namespace {

constexpr double kSomeCores = 0.05;  // half a step of the plan's figures

double share_saved(double gain) { return gain / (1 + gain); }

std::string why_unknown(const JobReport& report) {
  if (!report.what_if) return "there is no curve of its rate";
  if (!report.what_if->unknown.empty()) return report.what_if->unknown;
  return "the time that it waited for data is not known";
}

}  // namespace

std::optional<Estimate> gain_of(const WouldHave& would_have) {
  if (!would_have.saved_s || !(would_have.observed_s > 0)) return std::nullopt;
  const auto gain = [&](double saved_s) {
    const double left_s = would_have.observed_s - saved_s;
    return left_s > 0 ? would_have.observed_s / left_s - 1 : 0;
  };
  const Estimate& saved = *would_have.saved_s;
  return Estimate{gain(saved.value), gain(saved.low), gain(saved.high)};
}

std::vector<std::string> would_have_texts(const WouldHave& would_have) {
  std::vector<std::string> texts = {fmt::format(
      "Only observed (Mode=observe) for {}: Penstock changed nothing. It would "
      "have lent it {:.2f} cores, and {:.2f} of its own to others, on average",
      duration_text(would_have.observed_s), would_have.borrowed_cores,
      would_have.lent_cores)};
  const std::optional<Estimate> gain = gain_of(would_have);
  if (!gain) {
    if (!would_have.unknown.empty()) {
      texts.push_back("What that would have gained is not known: " +
                      would_have.unknown);
    }
    return texts;
  }
  const Estimate& saved = *would_have.saved_s;
  texts.push_back(fmt::format(
      "It would have been {:.0f}% faster with them [{:.0f} to {:.0f}]: {} less "
      "[{} to {}] for the same work",
      gain->value * 100, gain->low * 100, gain->high * 100,
      duration_text(saved.value), duration_text(saved.low),
      duration_text(saved.high)));
  return texts;
}

std::optional<WouldHave> of_all_nodes(const std::vector<JobReport>& parts) {
  std::optional<WouldHave> all;
  for (const JobReport& part : parts) {
    if (!part.would_have) continue;
    const WouldHave& it = *part.would_have;
    if (!all) {
      all = it;
      continue;
    }
    all->observed_s = std::max(all->observed_s, it.observed_s);
    all->borrowed_cores += it.borrowed_cores;
    all->lent_cores += it.lent_cores;
    if (!all->saved_s) continue;
    if (!it.saved_s || it.saved_s->value < all->saved_s->value) {
      all->saved_s = it.saved_s;
      all->unknown = it.unknown;
    }
  }
  return all;
}

void estimate_saving(const JobReport& report,
                     const std::vector<TimeWithLoan>& times,
                     WouldHave& would_have) {
  Estimate saved = Estimate::exact(0);
  for (const TimeWithLoan& time : times) {
    if (time.cores < kSomeCores) continue;
    const std::optional<Estimate> gain = gain_of_lent_cores(report, time.cores);
    if (!gain) {
      would_have.unknown = why_unknown(report);
      return;
    }
    saved.value += share_saved(gain->value) * time.seconds;
    saved.low += share_saved(gain->low) * time.seconds;
    saved.high += share_saved(gain->high) * time.seconds;
  }
  would_have.saved_s = saved;
}

}  // namespace penstock
