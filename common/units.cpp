#include "common/units.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace penstock {
namespace {

constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62
constexpr double kMaxDuration_ns = 3600e9;

// Factor of a suffix letter; 0 for other letters.
double suffix_factor(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1024.0;
    case 'm':
    case 'M':
      return 1024.0 * 1024;
    case 'g':
    case 'G':
      return 1024.0 * 1024 * 1024;
    case 't':
    case 'T':
      return 1024.0 * 1024 * 1024 * 1024;
    default:
      return 0;
  }
}

Error bad_amount(std::string_view text, const char* what) {
  return invalid(quoted(text) + " is not a " + what +
                 "; allowed: a number over 0 with K, M, G or T, such as 200M "
                 "or 1.5G");
}

Error bad_cpu_list(std::string_view text) {
  return invalid(quoted(text) +
                 " is not a CPU list; allowed: numbers 0 to 4095 and "
                 "ascending ranges, such as 0-3,8");
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes a CPU number from the front of text; -1 if there is none.
int take_cpu(std::string_view& text) {
  int cpu = -1;
  if (text.empty() || text.front() == '-') return -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, cpu);
  if (error != std::errc() || cpu >= CpuSet::kMaxCpus) return -1;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return cpu;
}

std::string format_scaled(double value, const char* suffix) {
  static constexpr const char* kUnits[] = {"B",  "KB", "MB", "GB",
                                           "TB", "PB", "EB"};
  if (!std::isfinite(value)) return "unknown";
  double size = std::fabs(value);
  size_t unit = 0;
  // 999.5 would round to four digits.
  while (size >= 999.5 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  char digits[400];  // a double has at most 309 digits before the point
  const auto done = std::to_chars(digits, digits + sizeof digits, size,
                                  std::chars_format::fixed, decimals);
  std::string text(digits, done.ptr);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return (value < 0 ? "-" : "") + text + " " + kUnits[unit] + suffix;
}

// Parses a number of bytes, optionally followed by `suffix`.
std::optional<uint64_t> parse_bytes(std::string_view text,
                                    std::string_view suffix) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  std::string_view rest(stop, static_cast<size_t>(end - stop));
  if (!rest.empty() && suffix_factor(rest.front()) > 0) {
    value *= suffix_factor(rest.front());
    rest.remove_prefix(1);
    if (rest.substr(0, 2) == "iB") rest.remove_prefix(1);
  }
  if (!rest.empty() && rest.front() == 'B') rest.remove_prefix(1);
  if (rest == suffix) rest = {};
  value = std::round(value);
  if (!rest.empty() || value < 1 || value > kMaxBytes) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace

Result<uint64_t> parse_rate_bytes_per_s(std::string_view text) {
  if (const auto bytes = parse_bytes(text, "/s")) return *bytes;
  return bad_amount(text, "rate");
}

Result<uint64_t> parse_size_bytes(std::string_view text) {
  if (const auto bytes = parse_bytes(text, "")) return *bytes;
  return bad_amount(text, "size");
}

Result<uint64_t> parse_duration_ns(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  static constexpr Unit kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const std::string_view rest(stop, static_cast<size_t>(end - stop));
  const auto* unit =
      std::find_if(std::begin(kUnits), std::end(kUnits),
                   [rest](const Unit& one) { return one.name == rest; });
  // A NaN fails these comparisons.
  if (error == std::errc() && unit != std::end(kUnits) && value >= 0 &&
      value * unit->ns <= kMaxDuration_ns) {
    return static_cast<uint64_t>(std::round(value * unit->ns));
  }
  return invalid(quoted(text) +
                 " is not a time; allowed: a number with ns, us, ms or s, at "
                 "most an hour, such as 2ms");
}

std::string format_rate(double bytes_per_s) {
  return format_scaled(bytes_per_s, "/s");
}

std::string format_bytes(double bytes) { return format_scaled(bytes, ""); }

std::string format_number(double value) {
  char digits[64];
  const auto done = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, done.ptr);
}

Result<uint64_t> parse_uint(std::string_view text, uint64_t low,
                            uint64_t high) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high)
    return invalid(quoted(text) + " must be " + std::to_string(low) + " to " +
                   std::to_string(high));
  return value;
}

Result<double> parse_number(std::string_view text, double low, double high) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value < low || value > high)
    return invalid(quoted(text) + " must be " + format_number(low) + " to " +
                   format_number(high));
  return value + 0.0;  // -0 becomes 0
}

bool is_name(std::string_view text) {
  constexpr size_t kMaxNameBytes = 64;
  for (char c : text) {
    const bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                            c == '-';
    if (!is_allowed) return false;
  }
  return !text.empty() && text.size() <= kMaxNameBytes;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string shown(text.substr(0, max_bytes));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > max_bytes) shown += "...";
  return shown;
}

std::string quoted(std::string_view text) {
  std::string shown(1, '"');  // "\"" + ... makes GCC 12 warn for no reason
  shown += printable(text);
  shown += '"';
  return shown;
}

CpuSet::CpuSet(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  std::erase_if(cpus_, [](int cpu) { return cpu < 0 || cpu >= kMaxCpus; });
  std::sort(cpus_.begin(), cpus_.end());
  cpus_.erase(std::unique(cpus_.begin(), cpus_.end()), cpus_.end());
}

Result<CpuSet> CpuSet::parse(std::string_view text) {
  const std::string_view whole = text;
  // One bit per CPU bounds the memory for a text with many duplicates.
  std::bitset<kMaxCpus> seen;
  int highest = -1;
  text = trim(text);
  while (!text.empty()) {
    const int first = take_cpu(text);
    int last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      last = take_cpu(text);
    }
    if (first < 0 || last < first) return bad_cpu_list(whole);
    for (int cpu = first; cpu <= last; ++cpu)
      seen.set(static_cast<size_t>(cpu));
    highest = std::max(highest, last);
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return bad_cpu_list(whole);
    text.remove_prefix(1);
  }
  CpuSet set;
  for (int cpu = 0; cpu <= highest; ++cpu)
    if (seen[static_cast<size_t>(cpu)]) set.cpus_.push_back(cpu);
  return set;
}

std::string CpuSet::to_string() const {
  std::string text;
  for (size_t i = 0; i < cpus_.size();) {
    size_t end = i + 1;
    while (end < cpus_.size() && cpus_[end] == cpus_[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus_[i]);
    if (end - i > 1) text += '-' + std::to_string(cpus_[end - 1]);
    i = end;
  }
  return text;
}

bool CpuSet::contains(int cpu) const {
  return std::binary_search(cpus_.begin(), cpus_.end(), cpu);
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
  CpuSet out;
  std::set_union(a.cpus_.begin(), a.cpus_.end(), b.cpus_.begin(), b.cpus_.end(),
                 std::back_inserter(out.cpus_));
  return out;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet out;
  std::set_intersection(a.cpus_.begin(), a.cpus_.end(), b.cpus_.begin(),
                        b.cpus_.end(), std::back_inserter(out.cpus_));
  return out;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet out;
  std::set_difference(a.cpus_.begin(), a.cpus_.end(), b.cpus_.begin(),
                      b.cpus_.end(), std::back_inserter(out.cpus_));
  return out;
}

}  // namespace penstock
