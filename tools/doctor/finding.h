// What `penstock doctor` found, and how it is shown. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "report/render.h"

namespace penstock::doctor {

enum class Verdict {
  kOk,
  kWarn,  // works, but not as it should
  kFail,  // has to be put right
  kSkip,  // could not be looked at, or there is nothing to look at
};

struct Finding {
  std::string check;  // what was looked at, in a few words
  Verdict verdict = Verdict::kSkip;
  std::string found;
  std::string remedy;  // kWarn, kFail: what to do; else ""

  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

Finding ok(std::string check, std::string found);
Finding warn(std::string check, std::string found, std::string remedy);
Finding fail(std::string check, std::string found, std::string remedy);
Finding skip(std::string check, std::string found);
// Of what could not be read: kSkip where only the permission is missing, as
// root sees more; else kFail.
Finding unreadable(std::string check, const Error& error, std::string remedy);

bool any_failed(const Findings& findings);

// A line for each, not broken, so that remedies can be pasted; control
// characters are replaced.
std::string render_findings(const Findings& findings, const TextStyle& style);

// An array of {"check", "status", "found", "remedy"}.
std::string to_json(const Findings& findings);
// Errors: kInvalidArgument  not what to_json() writes.
[[nodiscard]] Result<Findings> parse_findings(std::string_view text);

}  // namespace penstock::doctor
