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
  for (const WallPartNames& it : kWallParts) {
    const auto i = size_t(it.part);
    if (breakdown.parts[it.part].seconds) texts[i] = percent_text(tenths[i]);
  }
  texts.back() = percent_text(tenths.back());
  return texts;
}

}  // namespace

ShareTexts share_texts(const RunTotals& run) {
  Breakdown breakdown;
  breakdown.wall_s = run.wall_s.value_or(0);
  for (const WallPartNames& it : kWallParts) {
    breakdown.parts[it.part].seconds = run.parts_s[it.part];
  }
  return texts_of(breakdown);
}

ShareTexts share_texts(const StallTotals& totals) {
  Breakdown breakdown;  // in hours: shares have no unit
  breakdown.wall_s = totals.told_gpu_h;
  for (const WallPartNames& it : kWallParts) {
    if (!(totals.known_gpu_h[it.part] > 0)) continue;
    breakdown.parts[it.part].seconds = totals.parts_gpu_h[it.part];
  }
  return texts_of(breakdown);
}

std::string verdict_word(const RunTotals& run) {
  const auto stalled = stalled_s(run);
  const double wall_s = run.wall_s.value_or(0);
  if (!stalled || !(wall_s > 0)) return "unknown";
  const std::string mark = run.waited_s ? "" : "?";
  if (*stalled < kInputBoundShare * wall_s) {
    const bool computes = run.parts_s.compute.value_or(0) >= 0.5 * wall_s;
    return (computes ? "compute" : "other") + mark;
  }
  const char* cause = "data";
  double most_s = 0, of_no_cause_s = *stalled;
  for (const WallPartNames& it : kWallParts) {
    if (!is_stall(it.part)) continue;
    const double part_s = run.parts_s[it.part].value_or(0);
    of_no_cause_s -= part_s;
    if (part_s <= most_s) continue;
    most_s = part_s;
    cause = it.cause;
  }
  return (of_no_cause_s > most_s ? "data" : cause) + mark;
}

}  // namespace penstock
