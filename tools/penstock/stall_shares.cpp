#include "tools/penstock/stall_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/advice.h"

namespace penstock {
namespace {

constexpr int kTenths = 1000;  // tenths of a per cent in the whole

std::string percent_text(int tenths) {
  return fmt::format("{}.{}%", tenths / 10, tenths % 10);
}

ShareTexts texts_of(const Breakdown& parts) {
  const Breakdown breakdown = make_breakdown(parts);
  ShareTexts texts;
  texts.fill(kUnknownShare);
  if (!(breakdown.wall_s > 0)) return texts;
  const auto tenths = rounded_shares(breakdown, kTenths);
  if (breakdown.compute.seconds) texts[0] = percent_text(tenths[0]);
  if (breakdown.fetch_stall.seconds) texts[1] = percent_text(tenths[1]);
  if (breakdown.prep_stall.seconds) texts[2] = percent_text(tenths[2]);
  if (breakdown.exchange_stall.seconds) texts[3] = percent_text(tenths[3]);
  texts[4] = percent_text(tenths[4]);
  return texts;
}

std::optional<double> if_known(double hours, double known_hours) {
  if (!(known_hours > 0)) return std::nullopt;
  return hours;
}

}  // namespace

ShareTexts share_texts(const RunTotals& run) {
  Breakdown breakdown;
  breakdown.wall_s = run.wall_s.value_or(0);
  breakdown.compute.seconds = run.compute_s;
  breakdown.fetch_stall.seconds = run.fetch_stall_s;
  breakdown.prep_stall.seconds = run.prep_stall_s;
  breakdown.exchange_stall.seconds = run.exchange_stall_s;
  return texts_of(breakdown);
}

ShareTexts share_texts(const StallTotals& totals) {
  Breakdown breakdown;  // in hours: shares have no unit
  breakdown.wall_s = totals.told_gpu_h;
  breakdown.compute.seconds =
      if_known(totals.compute_gpu_h, totals.compute_known_gpu_h);
  breakdown.fetch_stall.seconds =
      if_known(totals.fetch_stall_gpu_h, totals.fetch_stall_known_gpu_h);
  breakdown.prep_stall.seconds =
      if_known(totals.prep_stall_gpu_h, totals.prep_stall_known_gpu_h);
  breakdown.exchange_stall.seconds =
      if_known(totals.exchange_stall_gpu_h, totals.exchange_stall_known_gpu_h);
  return texts_of(breakdown);
}

std::string verdict_word(const RunTotals& run) {
  const auto stalled = stalled_s(run);
  const double wall_s = run.wall_s.value_or(0);
  if (!stalled || !(wall_s > 0)) return "unknown";
  const std::string mark = run.waited_s ? "" : "?";
  if (*stalled < kInputBoundShare * wall_s) {
    const bool computes = run.compute_s.value_or(0) >= 0.5 * wall_s;
    return (computes ? "compute" : "other") + mark;
  }
  struct Cause {
    const char* word;
    double seconds;
  };
  const double fetch_s = run.fetch_stall_s.value_or(0);
  const double prep_s = run.prep_stall_s.value_or(0);
  const double exchange_s = run.exchange_stall_s.value_or(0);
  const std::array<Cause, 4> causes = {
      {{"fetch", fetch_s},
       {"prep", prep_s},
       {"exchange", exchange_s},
       {"data", *stalled - exchange_s - fetch_s - prep_s}}};
  return std::max_element(causes.begin(), causes.end(),
                          [](const Cause& a, const Cause& b) {
                            return a.seconds < b.seconds;
                          })
             ->word +
         mark;
}

}  // namespace penstock
