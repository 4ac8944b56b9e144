#include "wire/query.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "common/units.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr size_t kMaxCursorBytes = 128;
constexpr size_t kMaxReasonBytes = 1000;

struct WhatName {
  ControllerQuery::What what;
  const char* name;
};
constexpr std::array<WhatName, 4> kWhatNames = {
    {{ControllerQuery::What::kJobs, "jobs"},
     {ControllerQuery::What::kNodes, "nodes"},
     {ControllerQuery::What::kHistory, "history"},
     {ControllerQuery::What::kTotals, "totals"}}};

// Error codes of answers, by their name in messages.
struct CodeName {
  Code code;
  const char* name;
};
constexpr std::array<CodeName, 7> kCodeNames = {
    {{Code::kInvalidArgument, "invalid"},
     {Code::kNotFound, "not_found"},
     {Code::kPermissionDenied, "denied"},
     {Code::kIo, "io"},
     {Code::kInfeasible, "infeasible"},
     {Code::kUnavailable, "unavailable"},
     {Code::kLimit, "limit"}}};

// Reads optional fields; keeps the first error.
class Reader {
 public:
  explicit Reader(const json& in) : in_(in) {}

  void read(const char* key, std::optional<uint32_t>& out) {
    const json* value = find(key);
    if (!value) return;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > UINT32_MAX) {
      return fail(key, "a whole number under 2^32");
    }
    out = value->get<uint32_t>();
  }

  void read(const char* key, std::string& out, size_t max_bytes) {
    const json* value = find(key);
    if (!value) return;
    if (!value->is_string() ||
        value->get_ref<const std::string&>().size() > max_bytes) {
      return fail(key, fmt::format("a text of at most {} bytes", max_bytes));
    }
    out = value->get<std::string>();
  }

  void read(const char* key, double& out) {
    const json* value = find(key);
    if (!value) return;
    if (!value->is_number() || !(value->get<double>() >= 0)) {
      return fail(key, "a number from 0");
    }
    out = value->get<double>();
  }

  void read(const char* key, int& out, int low, int high) {
    const json* value = find(key);
    if (!value) return;
    // A number over INT64_MAX wraps to a negative one and is refused as well.
    const int64_t number =
        value->is_number_integer() ? value->get<int64_t>() : int64_t{low} - 1;
    if (number < low || number > high) {
      return fail(key, fmt::format("{} to {}", low, high));
    }
    out = int(number);
  }

  void fail(const std::string& key, const std::string& allowed) {
    if (status_) status_ = invalid("query: " + key + ": allowed: " + allowed);
  }

  const json* find(const char* key) const {
    const auto found = in_.find(key);
    return found == in_.end() || found->is_null() ? nullptr : &*found;
  }

  Status status() const { return status_; }

 private:
  const json& in_;
  Status status_ = Done{};
};

template <class T>
void put(json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

}  // namespace

json query_body(const ControllerQuery& query) {
  json out = {{"limit", query.limit}};
  for (const WhatName& each : kWhatNames) {
    if (each.what == query.what) out["what"] = each.name;
  }
  put(out, "job_id", query.job_id);
  put(out, "uid", query.uid);
  if (!query.node.empty()) out["node"] = query.node;
  if (query.since_unix_s > 0) out["since_unix_s"] = query.since_unix_s;
  if (!query.after.empty()) out["after"] = query.after;
  return out;
}

Result<ControllerQuery> read_query(const json& body) try {
  if (!body.is_object()) return invalid("query: not an object");
  Reader reader(body);
  ControllerQuery query;
  std::string what;
  reader.read("what", what, kMaxTypeBytes);
  bool known = false;
  for (const WhatName& each : kWhatNames) {
    if (what != each.name) continue;
    query.what = each.what;
    known = true;
  }
  if (!known) reader.fail("what", "jobs, nodes, history, totals");
  reader.read("job_id", query.job_id);
  reader.read("uid", query.uid);
  reader.read("node", query.node, kMaxNodeBytes);
  reader.read("since_unix_s", query.since_unix_s);
  reader.read("after", query.after, kMaxCursorBytes);
  reader.read("limit", query.limit, 1, kMaxQueryRows);
  if (!reader.status()) return reader.status().error();
  return query;
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
  for (const CodeName& each : kCodeNames) {
    if (each.code == error.code) out["error"] = each.name;
  }
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
  for (const CodeName& each : kCodeNames) {
    if (name == each.name) return Error{each.code, 0, reason};
  }
  return invalid("an answer without a document");
} catch (const std::exception& error) {
  return invalid(std::string("the answer: ") + error.what());
}

}  // namespace penstock
