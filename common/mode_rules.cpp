#include "common/mode_rules.h"

#include <algorithm>

#include "common/node_list.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr const char* kNodesRule =
    "a list of nodes as Slurm writes it, such as gpu[01-16,20],big1";
constexpr const char* kNamesRule = "names separated by commas";
constexpr const char* kShareRule = "a share of the jobs, from 0.01% to 100%";

Error refuse(const Setting& setting, const std::string& allowed) {
  return invalid(printable(setting.key) + "=" + printable(setting.value) +
                 ": not valid; allowed: " + allowed);
}

// Allowed in both kinds of lists.
bool is_plain(char c) {
  return c > ' ' && c <= '~' &&
         std::string_view("\"#\\").find(c) == std::string_view::npos;
}

Status read_nodes(const Setting& setting, ModeRule& rule) {
  const auto nodes = expand_node_list(setting.value);
  if (!nodes ||
      !std::all_of(setting.value.begin(), setting.value.end(), is_plain)) {
    return refuse(setting, kNodesRule);
  }
  rule.nodes = setting.value;
  rule.node_names = {nodes->begin(), nodes->end()};
  return Done{};
}

Result<double> parse_share(const Setting& setting) {
  std::string_view text = setting.value;
  if (!text.ends_with('%')) return refuse(setting, kShareRule);
  text.remove_suffix(1);
  const Result<double> percent = parse_number(text, 0.01, 100);
  if (!percent) return refuse(setting, kShareRule);
  return percent;
}

Status read_setting(const Setting& setting, ModeRule& rule) {
  const std::string key = lower_case(setting.key);
  if (key == "nodes") return read_nodes(setting, rule);
  if (key == "jobs") {
    const Result<double> percent = parse_share(setting);
    if (!percent) return percent.error();
    rule.jobs_percent = *percent;
    return Done{};
  }
  if (key != "partitions" && key != "accounts") {
    return invalid(printable(setting.key) + "=" + printable(setting.value) +
                   ": unknown key on a Mode line; allowed: Nodes, Partitions, "
                   "Accounts and Jobs");
  }
  Result<std::vector<std::string>> names = parse_names(setting.value);
  if (!names) return refuse(setting, names.error().message);
  (key == "partitions" ? rule.partitions : rule.accounts) = *std::move(names);
  return Done{};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : ",") + part;
  return text;
}

bool has_name(const std::vector<std::string>& names,
              const std::optional<std::string>& name, bool if_unknown) {
  if (names.empty()) return true;
  if (!name) return if_unknown;
  return std::find(names.begin(), names.end(), *name) != names.end();
}

bool is_for(const ModeRule& rule, const ModeSubject& job) {
  const bool if_unknown = rule.mode == Mode::kObserve;
  const bool is_here = rule.nodes.empty() || rule.node_names.contains(job.node);
  return is_here && has_name(rule.partitions, job.partition, if_unknown) &&
         has_name(rule.accounts, job.account, if_unknown) &&
         is_in_share(job.job_id, rule.jobs_percent);
}

}  // namespace

Result<std::vector<std::string>> parse_names(std::string_view text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else if (is_plain(c) && c != '[' && c != ']') {
      names.back() += c;
    } else {
      return invalid(kNamesRule);
    }
  }
  const auto is_wrong = [](const std::string& name) {
    return name.empty() || name.size() > 64;
  };
  if (std::any_of(names.begin(), names.end(), is_wrong)) {
    return invalid(kNamesRule);
  }
  return names;
}

Mode mode_of(const std::vector<ModeRule>& rules, const ModeSubject& job) {
  const auto last =
      std::find_if(rules.rbegin(), rules.rend(),
                   [&](const ModeRule& rule) { return is_for(rule, job); });
  return last == rules.rend() ? Mode::kOn : last->mode;
}

bool names_origins(const std::vector<ModeRule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const ModeRule& rule) {
    return !rule.partitions.empty() || !rule.accounts.empty();
  });
}

// The finalizer of MurmurHash3 (public domain).
bool is_in_share(uint32_t job_id, double percent) {
  uint32_t hash = job_id;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  hash ^= hash >> 16;
  return double(hash) < percent / 100 * 4294967296.0;
}

Result<ModeRule> parse_mode_rule(const std::vector<Setting>& settings) {
  ModeRule rule;
  const Setting& mode = settings.at(0);
  if (lower_case(mode.value) == "observe") {
    rule.mode = Mode::kObserve;
  } else if (lower_case(mode.value) != "on") {
    return refuse(mode, "on, observe");
  }
  std::set<std::string> seen;
  for (size_t i = 1; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    if (!seen.insert(lower_case(setting.key)).second) {
      return invalid(printable(setting.key) + "=" + printable(setting.value) +
                     ": given twice on this line; allowed: once");
    }
    if (Status read = read_setting(setting, rule); !read) {
      return std::move(read).error();
    }
  }
  return rule;
}

std::string mode_line(const ModeRule& rule) {
  std::string line = rule.mode == Mode::kOn ? "Mode=on" : "Mode=observe";
  if (!rule.nodes.empty()) line += " Nodes=" + rule.nodes;
  if (!rule.partitions.empty()) {
    line += " Partitions=" + joined(rule.partitions);
  }
  if (!rule.accounts.empty()) line += " Accounts=" + joined(rule.accounts);
  if (rule.jobs_percent < 100) {
    line += " Jobs=" + format_number(rule.jobs_percent) + "%";
  }
  return line;
}

}  // namespace penstock
