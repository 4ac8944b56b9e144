// The findings of `penstock doctor` and their display. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "report/render.h"

namespace penstock::doctor {

enum class Verdict {
  kOk,
  kWarn,  // works with restrictions
  kFail,  // must be fixed
  kSkip,  // not checked: no permission, or not applicable
};

struct Finding {
  std::string check;  // subject of the check, in a few words
  Verdict verdict = Verdict::kSkip;
  std::string found;
  std::string remedy;  // kWarn, kFail: the fix; else ""

  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

Finding ok(std::string check, std::string found);
Finding warn(std::string check, std::string found, std::string remedy);
Finding fail(std::string check, std::string found, std::string remedy);
Finding skip(std::string check, std::string found);
// The finding for an unreadable subject: kSkip if only the permission is
// missing, because root can check it; else kFail.
Finding unreadable(std::string check, const Error& error, std::string remedy);

bool any_failed(const Findings& findings);

// One line per finding, not wrapped, so that remedies can be pasted. Control
// characters are replaced.
std::string render_findings(const Findings& findings, const TextStyle& style);

// An array of {"check", "status", "found", "remedy"}.
std::string to_json(const Findings& findings);
// Errors: kInvalidArgument  not to_json()'s format.
[[nodiscard]] Result<Findings> parse_findings(std::string_view text);

}  // namespace penstock::doctor
