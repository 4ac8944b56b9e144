#include "wire/analysis_messages.h"

#include <algorithm>

#include "common/units.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using Kind = FieldFault::Kind;

constexpr double kLargest = 1e18;
constexpr size_t kMaxTextBytes = 80;
constexpr size_t kMaxBatches = 4096;
constexpr int kDeepest = 3;
constexpr const char* kFeeds[] = {"replay", "memory", "cold"};
constexpr uint64_t kMost = uint64_t(kLargest);

std::string allowed(const FieldFault& fault) {
  const std::string_view type = fault.type;
  if (fault.kind == Kind::kRule) return fault.allowed;
  if (fault.in_list) return "whole numbers";
  if (type == "a list") return "a list of up to 4096 whole numbers";
  if (type != "a name") return fault.type;
  return fault.kind == Kind::kType ? "a text" : "replay, memory or cold";
}

Error error_of(const FieldFault& fault) {
  if (fault.kind == Kind::kMissing) return invalid(fault.path + ": missing");
  return invalid(fault.path + ": not valid; allowed: " + allowed(fault));
}

constexpr FieldDialect kDialect = {.null = FieldDialect::Null::kIsMissing,
                                   .low = 0,
                                   .high = kLargest,
                                   .printable_bytes = kMaxTextBytes,
                                   .error_of = error_of};

}  // namespace

template <class Visitor, ConstOrNot<AnalysisCell> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cell", it.cell);
  visit("data", it.data, {std::size(kFeeds), feed_name});
  visit("train", it.train);
  visit("cores", it.cores);
  visit("bytes_per_s", it.bytes_per_s);
  visit("subset_samples", it.subset_samples, {.high = uint64_t{1} << 40});
  visit.require(it.subset_samples > 0, "subset_samples", "1 and up");
  visit.require(!(it.cores && *it.cores < 0.1), "cores", "0.1 and up");
  visit.require(!(it.bytes_per_s && *it.bytes_per_s < 1), "bytes_per_s",
                "1 and up");
}

template <class Visitor, ConstOrNot<AnalysisHello> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("secret", it.secret);
  visit("rank", it.rank, {.high = kMaxAnalysisRanks - 1});
  visit("ranks", it.ranks, {.high = kMaxAnalysisRanks});
  visit("node", it.node);
  visit("source", it.source);
  visit("batch_samples", it.batch_samples, {.high = kMost});
  visit("workers", it.workers, {.high = kMost});
  visit("dataset_samples", it.dataset_samples, {.high = kMost});
  visit("dataset_bytes", it.dataset_bytes);
  visit("cache_bytes", it.cache_bytes);
  visit("cpus", it.cpus, {.high = 1 << 20});
  visit.object("can", [&it](auto& can) {
    can("memory", it.can_memory);
    can("cold", it.cold);
    can("why", it.why, {.optional = true});
  });
  visit("filesystem", it.filesystem, {.optional = true});
  visit.require(it.rank < it.ranks, "rank", "less than ranks");
  visit.require(it.cpus > 0, "cpus", "1 and up");
}

template <class Visitor, ConstOrNot<AnalysisHeld> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("held", it.steps);
}

template <class Visitor, ConstOrNot<AnalysisReady> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cell", it.cell);
  visit.object("limits", [&it](auto& limits) {
    limits("cores", it.cores_by);
    limits("bytes_per_s", it.bytes_per_s_by);
    limits("why", it.why, {.optional = true});
  });
}

template <class Visitor, ConstOrNot<AnalysisBatches> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cell", it.cell);
  visit("end_ns", it.end_ns, {kMaxBatches});
  visit("samples", it.samples, {kMaxBatches});
  visit("wait_ns", it.wait_ns, {kMaxBatches});
  visit("cpu_s", it.cpu_s);
  visit("read_bytes", it.read_bytes);
  visit("consumed_bytes", it.consumed_bytes);
  visit("memory_bytes_per_s", it.memory_bytes_per_s);
  visit.require(it.samples.size() == it.end_ns.size() &&
                    it.wait_ns.size() == it.end_ns.size(),
                "samples", "as many entries as end_ns and wait_ns have");
  visit.require(std::is_sorted(it.end_ns.begin(), it.end_ns.end()), "end_ns",
                "ascending times");
}

namespace {

Json json_of(const AnalysisHold&) { return {{"hold", true}}; }
Json json_of(const AnalysisAdvance&) { return {{"advance", 1}}; }
Json json_of(const AnalysisEnd&) { return {{"end", true}}; }

template <class Message>
Json json_of(const Message& it) {
  Json out = write_fields<Json>(it);
  if constexpr (std::is_same_v<Message, AnalysisHello>) out["hello"] = 1;
  if constexpr (std::is_same_v<Message, AnalysisReady>) out["ready"] = true;
  return out;
}

template <class Message>
std::string line_of(const Message& message) {
  const Json json =
      std::visit([](const auto& it) { return json_of(it); }, message);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Json> parse_object(std::string_view line) {
  if (line.size() > kMaxAnalysisLineBytes) {
    return Error{Code::kLimit, 0, "a line over 64 KiB"};
  }
  Json json = parse_json(line, kDeepest).document;
  if (!json.is_object()) return invalid("not an object of JSON");
  return json;
}

template <class Whole, class Part>
Result<Whole> read_as(const Json& json) {
  Result<Part> part = read_fields<Part>(json, kDialect);
  if (!part) return std::move(part).error();
  return Whole(*std::move(part));
}

}  // namespace

const char* feed_name(AnalysisFeed feed) {
  return kFeeds[static_cast<int>(feed)];
}

std::string to_text(const AnalysisAddress& address) {
  return address.host + ":" + std::to_string(address.port) + ":" +
         address.secret;
}

Result<AnalysisAddress> parse_analysis_address(std::string_view text) {
  const auto bad = [] {
    return invalid(std::string(kAnalysisVariable) +
                   ": not valid; allowed: HOST:PORT:SECRET, as penstock "
                   "analyze sets it");
  };
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos || last == 0) return bad();
  const size_t middle = text.rfind(':', last - 1);
  if (middle == std::string_view::npos || middle == 0) return bad();
  AnalysisAddress address;
  address.host = text.substr(0, middle);
  address.secret = text.substr(last + 1);
  const auto port =
      parse_uint(text.substr(middle + 1, last - middle - 1), 1, UINT16_MAX);
  if (!port || address.secret.size() != kAnalysisSecretDigits) return bad();
  address.port = uint16_t(*port);
  return address;
}

std::string to_line(const AnalysisOrder& order) { return line_of(order); }

std::string to_line(const AnalysisAnswer& answer) { return line_of(answer); }

Result<AnalysisOrder> parse_order(std::string_view line) try {
  const Result<Json> json = parse_object(line);
  if (!json) return json.error();
  if (json->contains("end")) return AnalysisOrder(AnalysisEnd{});
  if (json->contains("hold")) return AnalysisOrder(AnalysisHold{});
  if (json->contains("advance")) return AnalysisOrder(AnalysisAdvance{});
  return read_as<AnalysisOrder, AnalysisCell>(*json);
} catch (const std::exception& error) {  // from nlohmann-json or an allocation
  return invalid(error.what());
}

Result<AnalysisAnswer> parse_answer(std::string_view line) try {
  const Result<Json> json = parse_object(line);
  if (!json) return json.error();
  using Answer = AnalysisAnswer;
  if (json->contains("hello")) return read_as<Answer, AnalysisHello>(*json);
  if (json->contains("ready")) return read_as<Answer, AnalysisReady>(*json);
  if (json->contains("held")) return read_as<Answer, AnalysisHeld>(*json);
  return read_as<Answer, AnalysisBatches>(*json);
} catch (const std::exception& error) {  // as above
  return invalid(error.what());
}

}  // namespace penstock
