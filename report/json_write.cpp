#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/advice.h"
#include "report/fields.h"
#include "report/json.h"
#include "report/json_timeline.h"
#include "report/lent_gain.h"
#include "wire/field_writer.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

// Makes figures and texts such as the reader accepts: a figure slightly below 0
// by rounding must not make the report unreadable.
struct Clamp {
  template <class T>
  void operator()(const char*, T& field, const RuleOf<T>& = {}) {
    fit(field);
  }
  void require(bool, const char*, const char*) {}

  void fit(double& figure) {
    figure = std::isnan(figure) ? 0 : std::clamp(figure, 0.0, kLargestFigure);
  }
  void fit(std::string& text) {
    size_t size = std::min(text.size(), kMaxReportTextBytes);
    // Not within a character: its further bytes begin with bits 10.
    const auto is_inside = [&] {
      return size > 0 && size < text.size() && (text[size] & 0xc0) == 0x80;
    };
    for (int i = 0; i < 3 && is_inside(); ++i) --size;
    text.resize(size);
  }
  void fit(Estimate& estimate) {
    estimate.low = std::min(estimate.low, estimate.value);
    estimate.high = std::max(estimate.high, estimate.value);
    visit_fields(*this, estimate);
  }
  template <class T>
  void fit(std::optional<T>& field) {
    if constexpr (std::is_same_v<T, double>) {
      if (field && !std::isfinite(*field)) field.reset();
    } else if constexpr (std::is_same_v<T, Estimate>) {
      if (field && !is_known(*field)) field.reset();
    }
    if (field) fit(*field);
  }
  template <class T>
  void fit(std::vector<T>& list) {
    for (T& entry : list) fit(entry);
  }
  template <class T>
  void fit(T& field) {
    if constexpr (std::is_class_v<T>) visit_fields(*this, field);
  }
};

template <class Struct>
Json object_of(Struct value) {
  Clamp clamp;
  clamp.fit(value);
  return write_fields<Json>(value);
}

Json header(const char* kind) {
  return {{"schema_version", kReportSchemaVersion}, {"kind", kind}};
}

// Results that a reader of the JSON would otherwise have to compute.
Json derived(const JobReport& report) {
  Json list = Json::array();
  for (const Recommendation& advice : recommend(report)) {
    list.push_back({{"lines", advice.lines},
                    {"reason", advice.reason},
                    {"gain", advice.gain && is_known(*advice.gain)
                                 ? object_of(*advice.gain)
                                 : Json()}});
  }
  auto error = [](const auto& predicted, const auto& measured) {
    std::optional<double> value = prediction_error(predicted, measured);
    return value && std::isfinite(*value) ? Json(*value) : Json();
  };
  const std::optional<double> gained = lent_gain(report);
  const Compared& ceiling = report.ceiling;
  const Compared& throughput = report.throughput;
  return {
      {"verdict", verdict(report)},
      {"recommendations", list},
      {"lent_gain", gained ? Json(*gained) : Json()},
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
