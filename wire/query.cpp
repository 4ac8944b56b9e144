#include "wire/query.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/job_record.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr size_t kMaxCursorBytes = 128;
constexpr size_t kMaxReasonBytes = 1000;

// Of ControllerQuery::What.
constexpr const char* kWhatNames[] = {"jobs", "nodes", "history", "totals",
                                      "reports"};
const char* what_name(ControllerQuery::What what) {
  return kWhatNames[size_t(what)];
}

// Of Code.
constexpr const char* kCodeNames[] = {"invalid", "not_found",  "denied",
                                      "io",      "infeasible", "unavailable",
                                      "limit"};

std::string allowed(const FieldFault& fault) {
  const std::string_view type = fault.type;
  if (type == "a name") return "jobs, nodes, history, totals, reports";
  if (type == "a number") return "a number from 0";
  if (type == "a text") {
    return fmt::format("a text of at most {} bytes", fault.most);
  }
  return fault.most == UINT32_MAX ? "a whole number under 2^32" : fault.allowed;
}

Error error_of(const FieldFault& fault) {
  return invalid(fault.path + ": allowed: " + allowed(fault));
}

constexpr FieldDialect kDialect = {.null = FieldDialect::Null::kIsMissing,
                                   .low = 0,
                                   .separator = ": ",
                                   .error_of = error_of};

}  // namespace

template <class Visitor, ConstOrNot<ControllerQuery> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("what", it.what, {std::size(kWhatNames), what_name});
  visit("job_id", it.job_id, {.omit_default = true});
  visit("uid", it.uid, {.omit_default = true});
  visit("node", it.node,
        {.most = kMaxNodeBytes, .optional = true, .omit_default = true});
  visit("kind", it.kind,
        {.most = kMaxKindBytes, .optional = true, .omit_default = true});
  visit("since_unix_s", it.since_unix_s,
        {.optional = true, .omit_default = true});
  visit("after", it.after,
        {.most = kMaxCursorBytes, .optional = true, .omit_default = true});
  visit("limit", it.limit, {1, kMaxQueryRows, /*optional=*/true});
}

json query_body(const ControllerQuery& query) {
  return write_fields<json>(query);
}

Result<ControllerQuery> read_query(const json& body) try {
  if (!body.is_object()) return invalid("query: not an object");
  return read_fields<ControllerQuery>(body, kDialect, "query");
} catch (const std::exception& error) {
  return invalid(std::string("query: ") + error.what());
}

json answer_body(const Envelope& query, const Result<json>& document) {
  json out = {{"to_session", fmt::format("{:016x}", query.session)},
              {"to_sequence", query.sequence}};
  if (document) {
    out["document"] = *document;
    return out;
  }
  const Error& error = document.error();
  out["error"] = kCodeNames[size_t(error.code)];
  out["reason"] = error.message.substr(0, kMaxReasonBytes);
  return out;
}

namespace {

// True only for an unsigned integer equal to `value`. Without the type check a
// number out of range would be converted first.
bool is_number(const json& body, const char* key, uint64_t value) {
  const auto found = body.find(key);
  return found != body.end() && found->is_number_unsigned() &&
         found->get<uint64_t>() == value;
}

}  // namespace

Result<json> read_answer(const Envelope& answer, const Envelope& query) try {
  const json& body = answer.body;
  if (answer.type != kAnswerType ||
      body.value("to_session", "") != fmt::format("{:016x}", query.session) ||
      !is_number(body, "to_sequence", query.sequence)) {
    return invalid("not the answer to this question");
  }
  if (body.contains("document") && body["document"].is_object()) {
    return body["document"];
  }
  const std::string name = body.value("error", "");
  const std::string reason =
      printable(body.value("reason", ""), kMaxReasonBytes);
  const auto* known =
      std::find(std::begin(kCodeNames), std::end(kCodeNames), name);
  if (known == std::end(kCodeNames)) {
    return invalid("an answer without a document");
  }
  return Error{Code(known - std::begin(kCodeNames)), 0, reason};
} catch (const std::exception& error) {
  return invalid(std::string("the answer: ") + error.what());
}

}  // namespace penstock
