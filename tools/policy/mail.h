// The mail that tells a user of findings. Pure.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "tools/policy/waste.h"

namespace penstock::policy {

// A user's file of this name in the home directory: no mails, please.
inline constexpr const char* kNoMailFile = ".penstock-no-mail";
// Runs that a mail shows.
inline constexpr size_t kMailedRuns = 5;

// A run's findings, and what its report advises.
struct MailedRun {
  std::vector<Finding> findings;  // of one run, at least one
  std::vector<Recommendation> advice;
};

// The runs of a user's findings, the worst first, without advice.
std::vector<MailedRun> runs_of(const UserFindings& user);

struct Mail {
  std::string to;
  std::string subject;
  std::string text;  // printable ASCII, lines of at most 78 bytes
};

// runs  as runs_of() returns them; of all but the first kMailedRuns only their
//       number is told
Mail compose(const std::string& to, const std::vector<MailedRun>& runs,
             double since_unix_s);

}  // namespace penstock::policy
