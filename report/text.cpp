#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "common/shown_text.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr int kNarrowest = 60;
constexpr int kWidest = 200;

const char* tone_code(Page::Tone tone) {
  switch (tone) {
    case Page::Tone::kPlain:
      return "";
    case Page::Tone::kHeading:
      return "\033[1m";
    case Page::Tone::kGood:
      return "\033[1;32m";
    case Page::Tone::kWarning:
      return "\033[1;33m";
    case Page::Tone::kBad:
      return "\033[1;31m";
  }
  return "";
}

// Break position of a text wider than width: after the last word that fits, or
// inside a word that alone is too wide.
size_t break_at(std::string_view text, size_t width, size_t indent) {
  const size_t fits = bytes_in_columns(text, width);
  if (fits == text.size()) return fits;
  const size_t space = text.rfind(' ', fits);
  const bool is_word = space == text.npos || space <= indent;
  return is_word ? fits : space;
}

}  // namespace

Page::Page(const TextStyle& style) : style_(style) {
  style_.width = std::clamp(style_.width, kNarrowest, kWidest);
}

void Page::add(std::string_view text, Tone tone) {
  bool paint = style_.color && tone != Tone::kPlain;
  if (paint) out_ += tone_code(tone);
  out_ += text;
  if (paint) out_ += "\033[0m";
  out_ += '\n';
}

void Page::line(std::string_view text, int hang, Tone tone) {
  std::string rest = shown_text(text, style_.unicode);
  size_t indent = 0;
  while (true) {
    size_t cut = break_at(rest, style_.width, indent);
    std::string_view first = std::string_view(rest).substr(0, cut);
    first = first.substr(0, first.find_last_not_of(' ') + 1);
    add(first, tone);
    size_t next = rest.find_first_not_of(' ', cut);
    if (next == rest.npos) return;
    indent = hang;
    rest = std::string(indent, ' ') + rest.substr(next);
  }
}

void Page::heading(std::string_view text) {
  out_ += '\n';
  line(text, 4, Tone::kHeading);
}

void Page::bar(std::string_view text, double share) {
  std::string start = shown_text(text, style_.unicode);
  int room = style_.width - static_cast<int>(columns_of(start)) - 1;
  int cells = std::clamp(static_cast<int>(std::lround(share * room)), 0,
                         std::max(room, 0));
  if (cells == 0) return line(start);
  out_ += start + ' ';
  for (int i = 0; i < cells; ++i) out_ += style_.unicode ? "\u2588" : "#";
  out_ += '\n';
}

namespace {

constexpr int kLineLabel = 18;  // with the spaces around it
constexpr int kLineScale = 18;

// From the lowest to the highest level of the scale.
constexpr std::array<const char*, 8> kBlocks = {"\u2581", "\u2582", "\u2583",
                                                "\u2584", "\u2585", "\u2586",
                                                "\u2587", "\u2588"};
constexpr std::array<const char*, 8> kAscii = {"_", ".", ":", "-",
                                               "=", "+", "*", "#"};

}  // namespace

size_t Page::line_cells() const {
  return size_t(style_.width - kLineLabel - kLineScale);
}

// Only the cells are coloured, so that labels look the same in all lines.
void Page::add_line(std::string_view label, std::string_view cells,
                    std::string_view scale, Tone tone) {
  std::string line = fmt::format("  {:<{}}", label, kLineLabel - 2);
  const bool paint = style_.color && tone != Tone::kPlain;
  if (paint) line += tone_code(tone);
  line += cells;
  if (paint) line += "\033[0m";
  if (!scale.empty()) line += fmt::format("  {}", scale);
  out_ += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

void Page::line_of_figures(std::string_view label,
                           const std::vector<std::optional<double>>& figures,
                           std::string_view scale, Tone tone) {
  const auto& levels = style_.unicode ? kBlocks : kAscii;
  std::string cells;
  for (const std::optional<double>& figure : figures) {
    if (!figure || std::isnan(*figure)) {
      cells += ' ';
      continue;
    }
    const double level = std::ceil(*figure * double(levels.size())) - 1;
    cells += levels[size_t(std::clamp(level, 0.0, double(levels.size() - 1)))];
  }
  add_line(label, cells, scale, tone);
}

void Page::line_of_marks(std::string_view label,
                         const std::vector<bool>& marks) {
  std::string cells;
  for (bool is_marked : marks) cells += is_marked ? '^' : ' ';
  add_line(label, cells, "", Tone::kPlain);
}

std::string figure_text(const std::optional<double>& value) {
  if (!value) return "-";
  double size = std::fabs(*value);
  if (size >= 1e7) return fmt::format("{:.3g}", *value);
  return fmt::format("{:.{}f}", *value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

std::string rate_text(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? format_rate(*bytes_per_s) : "-";
}

std::string estimate_text(
    const std::optional<Estimate>& value,
    std::string (*value_text)(const std::optional<double>&)) {
  if (!value || !is_known(*value)) return "-";
  std::string text = value_text(value->value);
  if (value->low == value->high) return text;
  return fmt::format("{} [{} to {}]", text, value_text(value->low),
                     value_text(value->high));
}

std::string limit_text(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? rate_text(bytes_per_s) : "no limit";
}

std::string error_text(const std::optional<Estimate>& predicted,
                       const std::optional<Estimate>& measured) {
  const auto error = prediction_error(predicted, measured);
  return error ? fmt::format("{:+.1f}%", *error * 100) : "-";
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", *share * 100) : "-";
}

std::string peers_text(const CacheFigures& cache) {
  if (!(cache.peer_hits.value_or(0) > 0) || !cache.hits) return "";
  return fmt::format(" (other nodes' {} of these, {})",
                     share_text(*cache.peer_hits / *cache.hits),
                     format_bytes(cache.peer_bytes.value_or(0)));
}

std::string cache_text(const CacheFigures& cache) {
  return fmt::format(
      "{} of the samples came from memory{}, {} not read from storage; it "
      "holds {} of the data set",
      share_text(cache.hit_share), peers_text(cache),
      format_bytes(cache.hit_bytes.value_or(0)), share_text(cache.held_share));
}

std::string gpus_text(const GpuFigures& gpus) {
  constexpr double kWorthTelling_s = 60;
  if (gpus.count == 0) return "";
  std::string text = std::to_string(gpus.count);
  if (!gpus.use) return text + ", whose use is not known";
  const bool is_one = gpus.count == 1;
  const std::string them = is_one ? "it"
                           : gpus.known == gpus.count
                               ? "them"
                               : fmt::format("{} of them", gpus.known);
  text += fmt::format(", a kernel ran on {} for {} of the time", them,
                      share_text(gpus.use));
  if (gpus.longest_idle_s.value_or(0) >= kWorthTelling_s) {
    text += fmt::format(", and none on {} for {} at a time",
                        is_one ? "it" : "one of them",
                        duration_text(*gpus.longest_idle_s));
  }
  if (gpus.memory_used_bytes && gpus.memory_bytes) {
    text +=
        fmt::format("; at most {} of {} of {} memory in use",
                    format_bytes(*gpus.memory_used_bytes),
                    format_bytes(*gpus.memory_bytes), is_one ? "its" : "one's");
  }
  return text;
}

std::string number_text(const JobReport& report) {
  const std::string number = std::to_string(report.job_id);
  if (report.label.empty() || report.label == number) return number;
  return number + " (" + report.label + ")";
}

std::string user_text(const JobReport& report) {
  return report.user.empty() ? fmt::format("uid {}", report.user_id)
                             : report.user;
}

std::string options_text(const std::vector<OptionGiven>& options) {
  std::string out;
  for (const OptionGiven& option : options) {
    out += fmt::format("{}--{}={}", out.empty() ? "" : " ", option.name,
                       option.value);
  }
  return out.empty() ? "nothing" : out;
}

std::string gain_text(const Estimate& gain) {
  return fmt::format("throughput +{:.0f}% [{:.0f} to {:.0f}]", gain.value * 100,
                     gain.low * 100, gain.high * 100);
}

std::optional<double> ratio(const std::optional<double>& used,
                            const std::optional<double>& granted) {
  if (!used || !granted || !(*granted > 0)) return std::nullopt;
  return *used / *granted;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "-";
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string date_text(double unix_s) {
  constexpr double kYear10000 = 253402300800;
  if (!(unix_s >= 0) || unix_s >= kYear10000) return "-";
  using namespace std::chrono;
  sys_seconds time{seconds{static_cast<int64_t>(unix_s)}};
  sys_days day = floor<days>(time);
  year_month_day date{day};
  hh_mm_ss clock{time - day};
  return fmt::format(
      "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string offset_text(double seconds) {
  double bounded = std::clamp(seconds, 0.0, 1e9);
  auto tenths = static_cast<int64_t>(std::llround(bounded * 10));
  return fmt::format("+{}:{:02}:{:02}.{}", tenths / 36000, tenths / 600 % 60,
                     tenths / 10 % 60, tenths % 10);
}

std::string clock_text(double unix_s, double step_s) {
  std::string date = date_text(unix_s);
  if (date == "-") return date;
  if (step_s >= 86400) return date.substr(5, 5);
  return date.substr(11, step_s < 60 ? 8 : 5);
}

}  // namespace penstock
