// Commands' questions to a controller and its answers: the bodies of "query"
// and "answer" messages (docs/protocol.md). Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/result.h"
#include "wire/envelope.h"

namespace penstock {

inline constexpr const char* kQueryType = "query";
inline constexpr const char* kAnswerType = "answer";
inline constexpr int kMaxQueryRows = 1000;  // of one answer

struct ControllerQuery {
  enum class What { kJobs, kNodes, kHistory, kTotals, kReports };
  What what = What::kJobs;
  std::optional<uint32_t> job_id;
  std::optional<uint32_t> uid;  // nullopt: all that the asker may see
  std::string node;             // "": all
  std::string kind;             // kHistory: kinds that begin so; "": all
  double since_unix_s = 0;      // kHistory, kTotals: last seen since then
  std::string after;            // "next" of the last answer; "": the first page
  int limit = kMaxQueryRows;    // 1..kMaxQueryRows

  friend bool operator==(const ControllerQuery&,
                         const ControllerQuery&) = default;
};

nlohmann::json query_body(const ControllerQuery& query);
// Errors: kInvalidArgument  names the field and what is allowed
[[nodiscard]] Result<ControllerQuery> read_query(const nlohmann::json& body);

// The body for a document, or for an error. `query` is the question's envelope.
nlohmann::json answer_body(const Envelope& query,
                           const Result<nlohmann::json>& document);
// Errors: kInvalidArgument  not the answer to that query
//         others            the controller's own
[[nodiscard]] Result<nlohmann::json> read_answer(const Envelope& answer,
                                                 const Envelope& query);

}  // namespace penstock
