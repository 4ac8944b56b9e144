#include "report/json_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace penstock {
namespace {

using nlohmann::json;

// Four shares, each rounded to four digits.
constexpr double kShareRounding = 1e-3;

struct TimeColumn {
  const char* name;
  double TimelinePoint::*field;
};
constexpr TimeColumn kTimes[] = {
    {"begin_unix_s", &TimelinePoint::begin_unix_s},
    {"duration_s", &TimelinePoint::duration_s},
};

// Clamps to what the reader accepts.
double writable(double value, double largest) {
  return std::isnan(value) ? 0 : std::clamp(value, 0.0, largest);
}

std::string time_text(double seconds) {
  std::string text = fmt::format("{:.3f}", writable(seconds, kLargestFigure));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string figure_text(const std::optional<double>& value, bool is_share) {
  if (!value || !std::isfinite(*value)) return "null";
  return fmt::format("{:.4g}", writable(*value, is_share ? 1 : kLargestFigure));
}

// One list of the object, on one line, with one entry per point.
template <class Text>
std::string list_json(const char* name,
                      const std::vector<TimelinePoint>& points, Text text_of) {
  std::string out = fmt::format("\n    \"{}\": [", name);
  for (const TimelinePoint& point : points) {
    if (&point != &points.front()) out += ',';
    out += text_of(point);
  }
  return out + "]";
}

Error bad(const std::string& path, const std::string& why) {
  return invalid("timeline" + path + " " + why);
}

std::string entry(const char* name, size_t index) {
  return fmt::format(".{}[{}]", name, index);
}

Result<const json*> list_of(const json& in, const char* name, size_t length) {
  const std::string path = std::string(".") + name;
  const auto found = in.find(name);
  if (found == in.end()) return bad(path, "is missing");
  if (!found->is_array()) return bad(path, "is not a list");
  if (found->size() != length) {
    return bad(path, fmt::format("has {} entries and begin_unix_s {}",
                                 found->size(), length));
  }
  return &*found;
}

Result<double> figure_of(const json& in, const std::string& path,
                         bool is_share) {
  if (!in.is_number()) return bad(path, "is not a number");
  const auto value = in.get<double>();
  if (!(value >= 0) || value > (is_share ? 1 : kLargestFigure)) {
    return bad(path, is_share ? "is out of range; allowed: 0 to 1"
                              : "is out of range; allowed: 0 to 1e18");
  }
  return value;
}

// Fills the field at(point) of each point. An optional field may be null.
template <class At>
Status read_list(const json& in, const char* name, At at, bool is_share,
                 std::vector<TimelinePoint>& out) {
  Result<const json*> list = list_of(in, name, out.size());
  if (!list) return std::move(list).error();
  for (size_t i = 0; i < out.size(); ++i) {
    const json& cell = (**list)[i];
    auto& field = at(out[i]);
    if (!std::is_same_v<decltype(field), double&> && cell.is_null()) continue;
    Result<double> value = figure_of(cell, entry(name, i), is_share);
    if (!value) return std::move(value).error();
    field = *value;
  }
  return Done{};
}

Status check(const std::vector<TimelinePoint>& points) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].begin_unix_s < points[i - 1].begin_unix_s) {
      return bad(entry("begin_unix_s", i), "is before the entry before it");
    }
    double shares = 0;
    for (const WallPartNames& it : kWallParts) {
      shares += points[i].shares[it.part].value_or(0);
    }
    if (shares > 1 + kShareRounding) {
      return bad(fmt::format("[{}]", i), "has shares that exceed 1 together");
    }
  }
  return Done{};
}

}  // namespace

std::string timeline_json(const std::vector<TimelinePoint>& points) {
  std::string out = "{";
  for (const TimeColumn& column : kTimes) {
    out += list_json(column.name, points, [&](const TimelinePoint& point) {
      return time_text(point.*column.field);
    });
    out += ',';
  }
  for (const TimelineColumn& column : kTimelineColumns) {
    out += list_json(column.name, points, [&](const TimelinePoint& point) {
      return figure_text(column.of(point), column.is_share());
    });
    out += ',';
  }
  out.back() = '\n';
  return out + "  }";
}

Result<std::vector<TimelinePoint>> read_timeline(const json& in) {
  if (!in.is_object()) return bad("", "is not an object");
  const auto begins = in.find(kTimes[0].name);
  if (begins == in.end() || !begins->is_array()) {
    return bad(".begin_unix_s", "is missing or no list");
  }
  if (begins->size() > kMaxParsedTimelinePoints) {
    return Error{Code::kLimit, 0,
                 fmt::format("timeline has more than {} points",
                             kMaxParsedTimelinePoints)};
  }
  std::vector<TimelinePoint> out(begins->size());
  Status read = Done{};
  for (const auto& [name, field] : kTimes) {
    if (read) read = read_list(in, name, std::mem_fn(field), false, out);
  }
  for (const TimelineColumn& it : kTimelineColumns) {
    const auto at = [&](TimelinePoint & point) -> auto& {
      return it.of(point);
    };
    if (read) read = read_list(in, it.name, at, it.is_share(), out);
  }
  if (!read) return std::move(read).error();
  if (Status sound = check(out); !sound) return std::move(sound).error();
  return out;
}

}  // namespace penstock
