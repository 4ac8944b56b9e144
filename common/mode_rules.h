// Which jobs Penstock acts for, and which it only watches: the Mode lines of
// penstock.conf. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/config_lines.h"
#include "common/result.h"

namespace penstock {

enum class Mode {
  kOn,
  // Watches, plans and reports, but changes nothing on the node.
  kObserve,
};

// One line, which holds for the jobs that all of its lists name. An empty list
// names every job.
//   Mode=on|observe [Nodes=LIST] [Partitions=A,B] [Accounts=A,B] [Jobs=P%]
struct ModeRule {
  Mode mode = Mode::kOn;
  std::string nodes;  // as Slurm writes it, and expanded
  std::set<std::string> node_names;
  std::vector<std::string> partitions;
  std::vector<std::string> accounts;
  double jobs_percent = 100;  // of all job ids, by their hash

  friend bool operator==(const ModeRule&, const ModeRule&) = default;
};

inline constexpr size_t kMaxModeRules = 64;

// The job that rules judge.
struct ModeSubject {
  std::string node;
  // nullopt: unknown.
  std::optional<std::string> partition;
  std::optional<std::string> account;
  uint32_t job_id = 0;
};

// The mode that the last rule for the job gives; without one, kOn. Where the
// job's partition or account is unknown, a rule that names partitions or
// accounts holds only if it is kObserve: in doubt, nothing is changed.
Mode mode_of(const std::vector<ModeRule>& rules, const ModeSubject& job);

// Whether a rule names partitions or accounts.
bool names_origins(const std::vector<ModeRule>& rules);

// Whether the job is among this share of all jobs. The same on every node, and
// independent of all that a user can choose. Of a job that is in a share, each
// larger share has it too.
bool is_in_share(uint32_t job_id, double percent);

// Parses names of partitions or accounts, separated by commas.
// Errors: kInvalidArgument  the message says what is allowed
[[nodiscard]] Result<std::vector<std::string>> parse_names(
    std::string_view text);

// Parses one line of settings, the first of which is Mode.
// Errors: kInvalidArgument  "Key=value: why; what is allowed".
[[nodiscard]] Result<ModeRule> parse_mode_rule(
    const std::vector<Setting>& settings);

// The line, to be parsed again.
std::string mode_line(const ModeRule& rule);

}  // namespace penstock
