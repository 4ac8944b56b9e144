#include "tools/penstock/what_if_amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/units.h"

namespace penstock {
namespace {

constexpr int kParts = 12;
constexpr double kMostWhole = 32;
constexpr double kRounding = 1e-9;

// In the order of Axis.
constexpr AxisWords kWords[] = {
    {"cores", "Cores of a rank, which its loader and its trainer share",
     "Cores of a rank", "cores", "4, 1,2,4, 1..24 or 0.25..2:0.25"},
    {"cached_share", "Cache: the share of the bytes read that it serves",
     "Share served by a cache", "of the bytes read",
     "40%, 0,50,100% or 0..100%:10%"},
    {"bandwidth_bytes_per_s", "Storage bandwidth of a rank",
     "Storage bandwidth of a rank", "bytes per second",
     "200M, 50M,100M or 50M..400M:50M"},
    {"accelerator_factor", "A faster accelerator", "Speed of the accelerator",
     "times as fast", "2x, 1,2,4x or 1x..4x:0.5x"},
    {"ranks", "Ranks on the node, which share its cores and bandwidth",
     "Ranks that share the node's cores and bandwidth", "ranks",
     "4, 1,2,4 or 1..8"},
    {"density", "Density of the exchange of gradients",
     "Density of the exchange of gradients", "of the gradients' elements",
     "1%, 0.1,1,10% or 1..10%:1%"},
};

// A number and the unit after it.
struct Token {
  std::string_view number, unit;
};

Token token_of(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == text.npos) return {text, {}};
  return {text.substr(0, end), text.substr(end)};
}

Result<double> parse_token(Axis axis, const Token& token,
                           std::string_view last_unit) {
  const std::string_view unit = token.unit.empty() ? last_unit : token.unit;
  const std::string whole = std::string(token.number) + std::string(unit);
  const auto plain = [&](std::string_view allowed_unit, double low,
                         double high) -> Result<double> {
    if (unit != allowed_unit)
      return invalid(quoted(whole) + " is not an amount");
    return parse_number(token.number, low, high);
  };
  switch (axis) {
    case Axis::kCores:
      return plain("", 0.001, 4096);
    case Axis::kCache: {
      Result<double> percent = plain("%", 0, 100);
      if (percent) *percent /= 100;
      return percent;
    }
    case Axis::kBandwidth: {
      Result<uint64_t> rate = parse_rate_bytes_per_s(whole);
      if (!rate) return std::move(rate).error();
      return static_cast<double>(*rate);
    }
    case Axis::kAccelerator:
      return plain(unit == "x" ? "x" : "", 0.01, 1000);
    case Axis::kRanks: {
      Result<uint64_t> ranks = parse_uint(whole, 1, 4096);
      if (!ranks) return std::move(ranks).error();
      return static_cast<double>(*ranks);
    }
    case Axis::kDensity: {
      Result<double> percent = plain("%", 0.001, 100);
      if (percent) *percent /= 100;
      return percent;
    }
  }
  return invalid("no such amount");
}

Result<std::vector<double>> parse_list(Axis axis, std::string_view text) {
  std::vector<double> out;
  const size_t last = text.rfind(',');
  const std::string_view unit =
      token_of(text.substr(last == text.npos ? 0 : last + 1)).unit;
  while (true) {
    const size_t comma = text.find(',');
    Result<double> value =
        parse_token(axis, token_of(text.substr(0, comma)), unit);
    if (!value) return std::move(value).error();
    out.push_back(*value);
    if (out.size() > kMaxAmounts)
      return invalid("more than " + std::to_string(kMaxAmounts) + " amounts");
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// dots: position of ".." in the text.
Result<std::vector<double>> parse_range(Axis axis, std::string_view text,
                                        size_t dots) {
  const std::string_view rest = text.substr(dots + 2);
  const size_t colon = rest.find(':');
  const Token end = token_of(rest.substr(0, colon));
  Result<double> low =
      parse_token(axis, token_of(text.substr(0, dots)), end.unit);
  if (!low) return std::move(low).error();
  Result<double> high = parse_token(axis, end, {});
  if (!high) return std::move(high).error();
  if (*low > *high) return invalid("the range's end is under its begin");
  if (colon == rest.npos) return spread(axis, *low, *high);
  Result<double> step =
      parse_token(axis, token_of(rest.substr(colon + 1)), end.unit);
  if (!step) return std::move(step).error();
  if (*step <= 0) return invalid("the range's step must be over 0");
  const double steps = std::floor((*high - *low) / *step + kRounding);
  if (steps >= static_cast<double>(kMaxAmounts))
    return invalid("more than " + std::to_string(kMaxAmounts) + " amounts");
  std::vector<double> out;
  for (int i = 0; i <= static_cast<int>(steps); ++i)
    out.push_back(std::min(*high, *low + i * *step));
  return out;
}

// The unit of format_rate() for a rate.
double rate_unit(double bytes_per_s) {
  double unit = 1;
  while (bytes_per_s >= unit * 1024) unit *= 1024;
  return unit;
}

bool is_whole(double value) { return value == std::floor(value); }

}  // namespace

const AxisWords& words_of(Axis axis) {
  return kWords[static_cast<size_t>(axis)];
}

Result<std::vector<double>> parse_amounts(Axis axis, std::string_view text) {
  const size_t dots = text.find("..");
  Result<std::vector<double>> out = dots == text.npos
                                        ? parse_list(axis, text)
                                        : parse_range(axis, text, dots);
  if (!out) {
    return invalid(quoted(text) + ": " + out.error().message +
                   "; allowed: such as " + words_of(axis).examples);
  }
  std::sort(out->begin(), out->end());
  out->erase(std::unique(out->begin(), out->end()), out->end());
  return out;
}

double round_step(Axis axis, double width, int parts) {
  const double unit = axis == Axis::kBandwidth ? rate_unit(width) : 1;
  const double least = width / unit / parts * (1 - kRounding);
  if (axis == Axis::kRanks && least <= 1) return 1;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor == 2.5 && axis == Axis::kRanks) continue;
    if (factor * power >= least) return factor * power * unit;
  }
  return 10 * power * unit;
}

std::vector<double> spread(Axis axis, double low, double high) {
  std::vector<double> out = {low};
  if (low == high) return out;
  const bool counts = axis == Axis::kRanks || axis == Axis::kCores;
  double step = round_step(axis, high - low, kParts);
  if (counts && is_whole(low) && is_whole(high) && high - low < kMostWhole)
    step = 1;
  const double margin = step * 1e-6;
  for (double i = std::floor(low / step) + 1; i * step < high - margin; ++i)
    if (i * step > low + margin) out.push_back(i * step);
  out.push_back(high);
  return out;
}

std::string amount_text(Axis axis, double amount) {
  const auto rounded = [](double value, double per_unit) {
    // Three digits, so that a small value is not shown as 0.
    if (value < 1) return fmt::format("{:.3g}", value);
    return format_number(std::round(value * per_unit) / per_unit);
  };
  switch (axis) {
    case Axis::kCores:
      return rounded(amount, 1000);
    case Axis::kCache:
    case Axis::kDensity:
      return rounded(amount * 100, 10) + "%";
    case Axis::kBandwidth:
      return format_rate(amount);
    case Axis::kAccelerator:
      return rounded(amount, 1000) + "x";
    case Axis::kRanks:
      return rounded(amount, 1);
  }
  return "";
}

std::string named_amount(Axis axis, double amount) {
  const char* name = axis == Axis::kCores   ? " core"
                     : axis == Axis::kRanks ? " rank"
                                            : "";
  return amount_text(axis, amount) + name + (*name && amount != 1 ? "s" : "");
}

}  // namespace penstock
