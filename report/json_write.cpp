#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/advice.h"
#include "report/fields.h"
#include "report/json.h"
#include "report/json_timeline.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

template <class Struct>
Json object_of(const Struct& value);

constexpr double kLargestFigure = 1e18;

// Clamps to what the reader accepts: a figure slightly below 0 by rounding must
// not make the report unreadable.
double writable(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, 0.0, kLargestFigure);
}

Json value_of(double value) { return writable(value); }
Json value_of(uint32_t value) { return value; }
Json value_of(uint64_t value) { return value; }
Json value_of(bool value) { return value; }
Json value_of(const std::string& text) {
  return text.substr(0, kMaxReportTextBytes);
}
Json value_of(const Estimate& value) {
  Estimate ordered = value;
  ordered.low = std::min(ordered.low, ordered.value);
  ordered.high = std::max(ordered.high, ordered.value);
  return object_of(ordered);
}
Json value_of(GrantCause cause) { return cause_name(cause); }
Json value_of(LoaderSource source) { return loader_source_name(source); }
Json value_of(ProcessEvents events) { return process_events_name(events); }

template <class T>
Json value_of(const std::optional<T>& value) {
  if constexpr (std::is_same_v<T, double>) {
    return value && std::isfinite(*value) ? value_of(*value) : Json();
  } else if constexpr (std::is_same_v<T, WhatIfCurve>) {
    return value ? object_of(*value) : Json();
  } else {
    return value && is_known(*value) ? value_of(*value) : Json();
  }
}

template <class T>
Json value_of(const std::vector<T>& list) {
  Json out = Json::array();
  for (const T& entry : list) {
    if constexpr (std::is_same_v<T, std::string>) {
      out.push_back(value_of(entry));
    } else {
      out.push_back(object_of(entry));
    }
  }
  return out;
}

template <class Struct>
Json value_of(const Struct& value) requires std::is_class_v<Struct> {
  return object_of(value);
}

struct Writer {
  Json out = Json::object();

  template <class T>
  void operator()(const char* key, const T& value) {
    out[key] = value_of(value);
  }
};

template <class Struct>
Json object_of(const Struct& value) {
  Writer writer;
  visit_fields(writer, value);
  return std::move(writer.out);
}

Json header(const char* kind) {
  return {{"schema_version", kReportSchemaVersion}, {"kind", kind}};
}

// Results that a reader of the JSON would otherwise have to compute.
Json derived(const JobReport& report) {
  Json list = Json::array();
  for (const Recommendation& advice : recommend(report)) {
    list.push_back({{"line", advice.line},
                    {"reason", advice.reason},
                    {"gain", value_of(advice.gain)}});
  }
  auto error = [](const auto& predicted, const auto& measured) {
    std::optional<double> value = prediction_error(predicted, measured);
    return value && std::isfinite(*value) ? Json(*value) : Json();
  };
  const Compared& ceiling = report.ceiling;
  const Compared& throughput = report.throughput;
  return {
      {"verdict", verdict(report)},
      {"recommendations", list},
      {"ceiling_error_arrival", error(ceiling.predicted, ceiling.measured)},
      {"ceiling_error_corrected", error(ceiling.corrected, ceiling.measured)},
      {"throughput_error", error(throughput.predicted, throughput.measured)}};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const JobReport& report) {
  Json out = header("job_report");
  out.update(object_of(report));
  out["derived"] = derived(report);
  // Written separately, because dump() would put each of thousands of figures
  // on its own line.
  std::string text = dump(out);
  text.resize(text.size() - std::string_view("\n}\n").size());
  return text + ",\n  \"timeline\": " + timeline_json(report.timeline) +
         "\n}\n";
}

std::string to_json(const NodeStatus& status) {
  Json out = header("node_status");
  out.update(object_of(status));
  return dump(out);
}

std::string to_json(const NodeSwitch& done) {
  Json out = header("node_switch");
  out.update(object_of(done));
  return dump(out);
}

}  // namespace penstock
