#include "report/summary.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/advice.h"
#include "report/lent_gain.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

// Three digits are enough for a line.
Json rounded(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return {};
  if (*value == 0) return 0;
  const double unit =
      std::pow(10, 2 - std::floor(std::log10(std::abs(*value))));
  return std::round(*value * unit) / unit;
}

Json advice_of(const JobReport& report) {
  const std::vector<Recommendation> advice = recommend(report);
  if (advice.empty()) return {};
  Json out = {{"lines", advice.front().lines}};
  if (const auto& gain = advice.front().gain; gain && is_known(*gain)) {
    out["gain"] = {rounded(gain->low), rounded(gain->high)};
  }
  return out;
}

std::optional<double> waited_share(const Breakdown& breakdown) {
  if (!breakdown.waited_s || !(breakdown.wall_s > 0)) return std::nullopt;
  return *breakdown.waited_s / breakdown.wall_s;
}

// Without apostrophes, so that it stays whole between two of them.
std::string text_of(const Json& summary) {
  const std::string json = Json{{"penstock", summary}}.dump(
      -1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::string out;
  for (const char c : json) {
    if (c == '\'') {
      out += "\\u0027";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string summary_json(const JobReport& report) {
  Json mistakes = Json::array();
  for (const LaunchProblem& problem : report.launch_problems) {
    mistakes.push_back(launch_fault_name(problem.fault));
  }
  const CoreFigures& cores = report.cores;
  const auto& rate = report.throughput.measured;
  Json out = {
      {"v", 1},
      {"running", report.running},
      {"verdict", verdict(report)},
      {"waited", rounded(waited_share(report.breakdown))},
      {"samples_per_s",
       rounded(rate ? std::optional<double>(rate->value) : std::nullopt)},
      {"cpus", rounded(cores.allocated)},
      {"lent_cores", rounded(cores.used_away)},
      {"lent_gain", rounded(lent_gain(report))},
      {"mistakes", mistakes},
      {"advice", advice_of(report)}};
  std::string text = text_of(out);
  if (text.size() > kMaxSummaryBytes) {
    out["advice"] = nullptr;
    text = text_of(out);
  }
  return text;
}

}  // namespace penstock
