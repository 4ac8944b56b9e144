#include <fmt/format.h>

#include "report/fields.h"
#include "report/json.h"
#include "report/json_timeline.h"
#include "wire/field_reader.h"

namespace penstock {
namespace {

using nlohmann::json;

using Kind = FieldFault::Kind;

constexpr int kDeepestJson = 15;

// Why a field is refused, after its path.
std::string reason(const FieldFault& fault) {
  const std::string_view type = fault.type;
  switch (fault.kind) {
    case Kind::kMissing:
      return "is missing";
    case Kind::kTooMany:
      return fmt::format("has more than {} entries", fault.most);
    case Kind::kRule:
      return fault.allowed;
    default:
      break;
  }
  if (type == "true or false") return "is neither true nor false";
  if (type == "a whole number" && fault.most == UINT32_MAX) {
    return "is not a whole number under 2^32";
  }
  if (fault.kind == Kind::kType) {
    return fmt::format("is not {}", type == "a name" ? "a text" : type);
  }
  return type == "a name" ? "is not a known name"
                          : "is out of range; allowed: 0 to 1e18";
}

Error error_of(const FieldFault& fault) {
  return Error{
      fault.kind == Kind::kTooMany ? Code::kLimit : Code::kInvalidArgument, 0,
      fault.path + " " + reason(fault)};
}

constexpr FieldDialect kDialect = {.null = FieldDialect::Null::kOptional,
                                   .low = 0,
                                   .high = kLargestFigure,
                                   .text_bytes = kMaxReportTextBytes,
                                   .separator = ".",
                                   .shows_index = true,
                                   .error_of = error_of};

Result<json> parse_document(std::string_view text, const char* kind) {
  if (text.size() > kMaxReportJsonBytes) {
    return Error{
        Code::kLimit, 0,
        "the report is over " + std::to_string(kMaxReportJsonBytes) + " bytes"};
  }
  json document = parse_json(text, kDeepestJson).document;
  if (!document.is_object()) return invalid("the report is not a JSON object");
  auto version = document.find("schema_version");
  if (version == document.end() || !version->is_number_unsigned() ||
      *version < kOldestReportSchema || *version > kReportSchemaVersion) {
    return invalid(fmt::format(
        "schema_version is none that this program reads; allowed: {} to {}",
        kOldestReportSchema, kReportSchemaVersion));
  }
  auto found = document.find("kind");
  if (found == document.end() || *found != kind) {
    return invalid(std::string("kind is not ") + kind);
  }
  return document;
}

// What the description of the fields leaves out.
Status complete(const json&, NodeSwitch&) { return Done{}; }

Status complete(const json&, NodeStatus& status) {
  for (JobReport& job : status.jobs) {
    job.breakdown = make_breakdown(std::move(job.breakdown));
  }
  return Done{};
}

// Reports of earlier versions have no timeline.
Status complete(const json& document, JobReport& report) {
  report.schema_version = document["schema_version"];
  report.breakdown = make_breakdown(std::move(report.breakdown));
  for (NodePart& part : report.nodes) {
    part.breakdown = make_breakdown(std::move(part.breakdown));
  }
  const auto found = document.find("timeline");
  if (found == document.end()) return Done{};
  Result<std::vector<TimelinePoint>> timeline = read_timeline(*found);
  if (!timeline) return std::move(timeline).error();
  report.timeline = *std::move(timeline);
  return Done{};
}

template <class Struct>
Result<Struct> parse_as(std::string_view text, const char* kind) try {
  const Result<json> document = parse_document(text, kind);
  if (!document) return document.error();
  Result<Struct> out = read_fields<Struct>(*document, kDialect);
  if (!out) return out;
  if (Status whole = complete(*document, *out); !whole) {
    return std::move(whole).error();
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
