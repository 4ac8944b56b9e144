#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/fields.h"
#include "report/json.h"
#include "report/json_timeline.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr double kLargestFigure = 1e18;
constexpr int kDeepestJson = 16;

template <class T>
constexpr size_t kListBound = 0;
template <>
constexpr size_t kListBound<GrantChange> = kMaxGrantChanges;
template <>
constexpr size_t kListBound<std::string> = kMaxReportNotes;
template <>
constexpr size_t kListBound<OptionGiven> = kMaxReportOptions;
template <>
constexpr size_t kListBound<RateAtCores> = kMaxWhatIfPoints;
template <>
constexpr size_t kListBound<PoolStatus> = kMaxStatusPools;
template <>
constexpr size_t kListBound<JobReport> = kMaxStatusJobs;

// Reads one object's fields; keeps the first error and ignores later fields.
class Reader {
 public:
  Reader(const json& in, std::string path) : in_(in), path_(std::move(path)) {
    if (!in_.is_object()) fail("", "is not an object");
  }

  template <class T>
  void operator()(const char* key, T& field) {
    if (error_) return;
    auto found = in_.find(key);
    if (found != in_.end()) return read(key, *found, field);
    if (!is_newer(key)) fail(key, "is missing");
  }

  std::optional<Error> take_error() { return std::move(error_); }

 private:
  // Keys that reports of earlier versions lack.
  static bool is_newer(std::string_view key) {
    return key == "pressure" || key == "exchange_stall" || key == "what_if" ||
           key == "cache" || key == "peer_hits" || key == "peer_bytes" ||
           key == "contention_s";
  }

  void fail(const std::string& key, const std::string& why,
            Code code = Code::kInvalidArgument) {
    if (!error_) error_ = Error{code, 0, child(key) + " " + why};
  }

  std::string child(const std::string& key) const {
    if (key.empty()) return path_.empty() ? "the report" : path_;
    return path_.empty() ? key : path_ + "." + key;
  }

  void read(const std::string& key, const json& in, double& out) {
    if (!in.is_number()) return fail(key, "is not a number");
    double value = in.get<double>();
    if (!(value >= 0) || value > kLargestFigure) {
      return fail(key, "is out of range; allowed: 0 to 1e18");
    }
    out = value;
  }

  void read(const std::string& key, const json& in, uint64_t& out) {
    if (!in.is_number_unsigned()) return fail(key, "is not a whole number");
    out = in.get<uint64_t>();
  }

  void read(const std::string& key, const json& in, uint32_t& out) {
    if (!in.is_number_unsigned() || in.get<uint64_t>() > UINT32_MAX) {
      return fail(key, "is not a whole number under 2^32");
    }
    out = in.get<uint32_t>();
  }

  void read(const std::string& key, const json& in, bool& out) {
    if (!in.is_boolean()) return fail(key, "is neither true nor false");
    out = in.get<bool>();
  }

  void read(const std::string& key, const json& in, std::string& out) {
    if (!in.is_string()) return fail(key, "is not a text");
    out = in.get_ref<const std::string&>().substr(0, kMaxReportTextBytes);
  }

  template <class Enum>
  void read_enum(const std::string& key, const json& in, int count,
                 const char* (*name)(Enum), Enum& out) {
    if (!in.is_string()) return fail(key, "is not a text");
    for (int i = 0; i < count; ++i) {
      if (in.get_ref<const std::string&>() == name(static_cast<Enum>(i))) {
        out = static_cast<Enum>(i);
        return;
      }
    }
    fail(key, "is not a known name");
  }

  void read(const std::string& key, const json& in, GrantCause& out) {
    read_enum(key, in, kGrantCauseCount, cause_name, out);
  }
  void read(const std::string& key, const json& in, LoaderSource& out) {
    read_enum(key, in, kLoaderSourceCount, loader_source_name, out);
  }
  void read(const std::string& key, const json& in, ProcessEvents& out) {
    read_enum(key, in, kProcessEventsCount, process_events_name, out);
  }

  template <class T>
  void read(const std::string& key, const json& in, std::optional<T>& out) {
    if (in.is_null()) return out.reset();
    read(key, in, out.emplace());
  }

  template <class T>
  void read(const std::string& key, const json& in, std::vector<T>& out) {
    if (!in.is_array()) return fail(key, "is not a list");
    if (in.size() > kListBound<T>) {
      return fail(key,
                  "has more than " + std::to_string(kListBound<T>) + " entries",
                  Code::kLimit);
    }
    out.resize(in.size());
    for (size_t i = 0; i < in.size() && !error_; ++i) {
      read(key + "[" + std::to_string(i) + "]", in[i], out[i]);
    }
  }

  template <class Struct>
  void read(const std::string& key, const json& in,
            Struct& out) requires std::is_class_v<Struct> {
    Reader inner(in, child(key));
    visit_fields(inner, out);
    error_ = inner.take_error();
    if (!error_) inner.check(*this, key, out);
  }

  template <class Struct>
  static void check(Reader&, const std::string&, Struct&) {}

  static void check(Reader& outer, const std::string& key, Estimate& it) {
    if (it.low > it.value || it.value > it.high) {
      outer.fail(key, "has an interval that does not hold its value");
    }
  }

  static void check(Reader& outer, const std::string& key, WhatIfCurve& it) {
    for (size_t i = 1; i < it.points.size(); ++i) {
      if (it.points[i].cores > it.points[i - 1].cores) continue;
      return outer.fail(key, "has points whose cores do not ascend");
    }
    if (it.notes.size() > kMaxWhatIfNotes) {
      outer.fail(key + ".notes",
                 fmt::format("has more than {} entries", kMaxWhatIfNotes),
                 Code::kLimit);
    }
  }

  static void check(Reader&, const std::string&, Breakdown& it) {
    it = make_breakdown(std::move(it));
  }

  const json& in_;
  std::string path_;
  std::optional<Error> error_;
};

Result<json> parse_document(std::string_view text, const char* kind) {
  if (text.size() > kMaxReportJsonBytes) {
    return Error{
        Code::kLimit, 0,
        "the report is over " + std::to_string(kMaxReportJsonBytes) + " bytes"};
  }
  auto shallow = [](int depth, json::parse_event_t, json&) {
    return depth < kDeepestJson;
  };
  json document = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (document.is_discarded() || !document.is_object()) {
    return invalid("the report is not a JSON object");
  }
  auto version = document.find("schema_version");
  if (version == document.end() || *version != kReportSchemaVersion) {
    return invalid("schema_version is not " +
                   std::to_string(kReportSchemaVersion) +
                   ", the one that this program reads");
  }
  auto found = document.find("kind");
  if (found == document.end() || *found != kind) {
    return invalid(std::string("kind is not ") + kind);
  }
  return document;
}

template <class Struct>
Status read_course(const json&, Struct&) {
  return Done{};
}

// Reports of earlier versions have no timeline.
Status read_course(const json& document, JobReport& out) {
  const auto found = document.find("timeline");
  if (found == document.end()) return Done{};
  Result<std::vector<TimelinePoint>> timeline = read_timeline(*found);
  if (!timeline) return std::move(timeline).error();
  out.timeline = *std::move(timeline);
  return Done{};
}

template <class Struct>
Result<Struct> parse_as(std::string_view text, const char* kind) try {
  Result<json> document = parse_document(text, kind);
  if (!document) return std::move(document).error();
  Struct out;
  Reader reader(*document, "");
  visit_fields(reader, out);
  if (auto error = reader.take_error()) return *std::move(error);
  if (Status read = read_course(*document, out); !read) {
    return std::move(read).error();
  }
  return out;
} catch (const std::exception& error) {  // thrown by nlohmann or an allocation
  return invalid(std::string("the report cannot be read: ") + error.what());
}

}  // namespace

Result<JobReport> parse_report(std::string_view text) {
  return parse_as<JobReport>(text, "job_report");
}

Result<NodeStatus> parse_node_status(std::string_view text) {
  return parse_as<NodeStatus>(text, "node_status");
}

Result<NodeSwitch> parse_node_switch(std::string_view text) {
  return parse_as<NodeSwitch>(text, "node_switch");
}

}  // namespace penstock
