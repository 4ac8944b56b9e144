#include "tools/penstock/since.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "common/units.h"

namespace penstock {
namespace {

constexpr double kMinute_s = 60;
constexpr double kHour_s = 3600;
constexpr double kDay_s = 86400;
constexpr double kLongest_days = 36500;

struct Unit {
  char letter;
  double seconds;
};
constexpr std::array<Unit, 4> kUnits = {
    {{'m', kMinute_s}, {'h', kHour_s}, {'d', kDay_s}, {'w', 7 * kDay_s}}};

Error refused(std::string_view text) {
  return invalid("--since " + printable(text) +
                 ": allowed: 30m, 12h, 7d, 2w, or a date as 2026-11-01 or "
                 "2026-11-01T14:30 (UTC)");
}

std::optional<double> age_s(std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.back() != unit.letter) continue;
    const double most = kLongest_days * kDay_s / unit.seconds;
    Result<double> number =
        parse_number(text.substr(0, text.size() - 1), 0, most);
    if (!number || *number == 0) return std::nullopt;
    return *number * unit.seconds;
  }
  return std::nullopt;
}

// Takes the separator `before` and then `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::string_view before,
                               size_t digits, int low, int high) {
  if (!text.starts_with(before)) return std::nullopt;
  text.remove_prefix(before.size());
  if (text.size() < digits) return std::nullopt;
  Result<uint64_t> number =
      parse_uint(text.substr(0, digits), uint64_t(low), uint64_t(high));
  if (!number) return std::nullopt;
  text.remove_prefix(digits);
  return int(*number);
}

std::optional<double> date_s(std::string_view text) {
  using namespace std::chrono;
  const auto y = take_number(text, "", 4, 1970, 9999);
  const auto m = y ? take_number(text, "-", 2, 1, 12) : std::nullopt;
  const auto d = m ? take_number(text, "-", 2, 1, 31) : std::nullopt;
  if (!d) return std::nullopt;
  const year_month_day date{year{*y}, month{unsigned(*m)}, day{unsigned(*d)}};
  if (!date.ok()) return std::nullopt;
  double seconds = double(sys_days{date}.time_since_epoch().count()) * kDay_s;
  if (text.starts_with('T')) {
    const auto h = take_number(text, "T", 2, 0, 23);
    const auto min = h ? take_number(text, ":", 2, 0, 59) : std::nullopt;
    if (!min) return std::nullopt;
    seconds += *h * kHour_s + *min * kMinute_s;
    if (text.starts_with(':')) {
      const auto s = take_number(text, ":", 2, 0, 59);
      if (!s) return std::nullopt;
      seconds += *s;
    }
  }
  if (text == "Z") text = {};
  return text.empty() ? std::optional(seconds) : std::nullopt;
}

}  // namespace

Result<double> parse_since(std::string_view text, double now_unix_s) {
  if (const auto age = age_s(text)) return std::max(0.0, now_unix_s - *age);
  const auto date = date_s(text);
  if (!date) return refused(text);
  if (*date > now_unix_s) {
    return invalid("--since " + std::string(text) + ": is yet to come");
  }
  return *date;
}

}  // namespace penstock
