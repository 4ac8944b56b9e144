#include "report/notice.h"

#include <fmt/format.h>

#include <string_view>

#include "report/advice.h"

namespace penstock {
namespace {

// The verdict without what is in brackets, if there is one.
std::string short_verdict(const JobReport& report) {
  if (!report.breakdown.waited_s) return "";
  const std::string text = verdict(report);
  return text.substr(0, text.find(" ("));
}

// At most max_bytes, without half a word at its end.
std::string cut(const std::string& text, size_t max_bytes) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= max_bytes) return text;
  const size_t room = max_bytes - kMore.size();
  const size_t blank = text.rfind(' ', room);
  return text.substr(0, blank == text.npos ? room : blank).append(kMore);
}

}  // namespace

std::string notice(const JobReport& report) {
  if (report.run_s() < report.recommend_after_s ||
      !(report.breakdown.wall_s > 0)) {
    return "";
  }
  std::string text = short_verdict(report);
  if (!report.launch_problems.empty()) {
    text += (text.empty() ? "" : "; ") + report.launch_problems.front().reason;
  } else if (!text.empty()) {
    text = verdict(report);
  }
  if (text.empty()) return "";
  const std::string command =
      fmt::format("; penstock report {}", report.job_id);
  return cut("penstock: " + text, kMaxNoticeBytes - command.size()) + command;
}

bool has_remedy(const JobReport& report) {
  const std::optional<double>& waited_s = report.breakdown.waited_s;
  return !report.launch_problems.empty() ||
         (waited_s && *waited_s + report.breakdown.contention_s.value_or(0) >=
                          kInputBoundShare * report.breakdown.wall_s);
}

}  // namespace penstock
