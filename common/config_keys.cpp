#include "common/config_keys.h"

#include <algorithm>

#include "common/units.h"

namespace penstock {
namespace {

// sockaddr_un::sun_path has 108 bytes with its NUL.
constexpr size_t kMaxSocketPathBytes = 107;

// A comment if the key is not set.
std::string line(const char* name, const std::string& value,
                 const char* unset = "") {
  if (!value.empty()) return std::string(name) + "=" + value + "\n";
  return "# " + std::string(name) + ": " + unset + "\n";
}

// parse(text): a Result with the field's value. write(value): its text; "":
// not set.
template <class T, class Parse, class Write>
ConfigKey field_key(const char* name, T Config::*field, Parse parse,
                    const std::string& allowed, Write write,
                    const char* unset = "") {
  return {name,
          [=](const std::string& text, Config& config) -> Status {
            const auto value = parse(text);
            if (!value) return not_allowed(allowed);
            config.*field = *value;
            return Done{};
          },
          [=](const Config& config) {
            return line(name, write(config.*field), unset);
          }};
}

std::string same(const std::string& text) { return text; }

ConfigKey text(const char* name, std::string Config::*field,
               const std::function<bool(const std::string&)>& is_valid,
               const std::string& allowed, const char* unset = "") {
  return field_key(
      name, field,
      [=](const std::string& value) {
        return is_valid(value) ? Result(value) : invalid("");
      },
      allowed, same, unset);
}

ConfigKey path(const char* name, std::string Config::*field,
               size_t max_bytes = kMaxPathBytes, const char* unset = "") {
  return text(
      name, field,
      [=](const std::string& value) {
        return is_absolute_path(value, max_bytes);
      },
      "an absolute path of at most " + std::to_string(max_bytes) + " bytes",
      unset);
}

constexpr const char* kAccountRule =
    "a user's name or number, 1 to 64 printable characters without blanks, ':' "
    "and '/'";

bool is_account(const std::string& value) {
  return !value.empty() && value.size() <= 64 &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return c > ' ' && c <= '~' && c != ':' && c != '/';
         });
}

// node_exporter reads only files named *.prom.
bool is_metrics_file(const std::string& value) {
  return is_absolute_path(value) && value.ends_with(".prom") &&
         !value.ends_with("/.prom");
}

// An allowed word and the field's value for it.
template <class T>
struct Word {
  const char* text;
  T value;
};

template <class T>
ConfigKey word(const char* name, T Config::*field, std::vector<Word<T>> words) {
  return {name,
          [=](const std::string& value, Config& config) -> Status {
            std::string allowed;
            for (const Word<T>& candidate : words) {
              if (lower_case(value) == candidate.text) {
                config.*field = candidate.value;
                return Done{};
              }
              allowed += (allowed.empty() ? "" : ", ");
              allowed += candidate.text;
            }
            return not_allowed(allowed);
          },
          [=](const Config& config) {
            std::string given;
            for (const Word<T>& candidate : words)
              if (config.*field == candidate.value) given = candidate.text;
            return line(name, given);
          }};
}

ConfigKey yes_no(const char* name, bool Config::*field) {
  return word<bool>(name, field, {{"yes", true}, {"no", false}});
}

std::vector<Word<Policy>> policies() {
  std::vector<Word<Policy>> words;
  for (const char* name : kPolicyNames)
    words.push_back({name, static_cast<Policy>(words.size())});
  return words;
}

ConfigKey whole(const char* name, uint64_t Config::*field, uint64_t low,
                uint64_t high) {
  return field_key(
      name, field,
      [=](const std::string& text) { return parse_uint(text, low, high); },
      "a whole number from " + std::to_string(low) + " to " +
          std::to_string(high),
      [](uint64_t value) { return std::to_string(value); });
}

ConfigKey number(const char* name, double Config::*field, double low,
                 double high) {
  return field_key(
      name, field,
      [=](const std::string& text) { return parse_number(text, low, high); },
      "a number from " + format_number(low) + " to " + format_number(high),
      format_number);
}

// 0: not set.
ConfigKey rate(const char* name, uint64_t Config::*field, const char* unset) {
  return field_key(
      name, field, parse_rate_bytes_per_s, kRateRule,
      [](uint64_t value) { return value == 0 ? "" : std::to_string(value); },
      unset);
}

Result<std::string> cpu_list(const std::string& text) {
  const auto cpus = CpuSet::parse(text);
  if (!cpus || cpus->empty()) return invalid("");
  return cpus->to_string();
}

std::string pool_lines(const Config& config) {
  std::string lines;
  for (const PoolConfig& pool : config.pools)
    lines += "Pool=" + pool.name + " Path=" + pool.path +
             " Bandwidth=" + std::to_string(pool.bandwidth_bytes_per_s) +
             " Shared=" + (pool.shared ? "yes" : "no") + "\n";
  return lines;
}

std::string mode_lines(const Config& config) {
  std::string lines;
  for (const ModeRule& rule : config.modes) lines += mode_line(rule) + "\n";
  return lines.empty() ? "Mode=on\n" : lines;
}

Status store_guests(const std::string& value, Config& config) {
  config.guests = {};
  if (lower_case(value) == "no") return Done{};
  config.guests.if_asked = lower_case(value) == "asked";
  if (config.guests.if_asked) return Done{};
  auto names = parse_names(value);
  if (!names)
    return not_allowed("no, asked, or partitions: " + names.error().message);
  config.guests.partitions = *std::move(names);
  return Done{};
}

std::string guests_line(const Config& config) {
  std::string list = config.guests.if_asked ? "asked" : "";
  for (const std::string& name : config.guests.partitions)
    list += (list.empty() ? "" : ",") + name;
  return line("Guests", list.empty() ? "no" : list);
}

Status store_controllers(const std::string& value, Config& config) {
  auto controllers = parse_controllers(value);
  if (!controllers)
    return not_allowed("HOST[:PORT][,HOST[:PORT]...], at most 8 (" +
                       controllers.error().message + ")");
  config.controllers = *std::move(controllers);
  return Done{};
}

std::string controller_line(const Config& config) {
  std::string list;
  for (const ControllerAddress& address : config.controllers)
    list += (list.empty() ? "" : ",") + address.to_string();
  return line("Controller", list, "none");
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const auto* const kKeys = new std::vector<ConfigKey>{
      path("SocketPath", &Config::socket_path, kMaxSocketPathBytes),
      path("StateDir", &Config::state_dir),
      path("ReportDir", &Config::report_dir),
      path("ProfileDir", &Config::profile_dir),
      path("CgroupRoot", &Config::cgroup_root),
      text("CgroupName", &Config::cgroup_name, is_config_name, kNameRule),
      {"Mode", nullptr, mode_lines},
      word<Policy>("Policy", &Config::policy, policies()),
      word<bool>("Default", &Config::default_auto,
                 {{"auto", true}, {"off", false}}),
      word<bool>("Watch", &Config::watch, {{"auto", true}, {"off", false}}),
      yes_no("LendIdle", &Config::lend_idle),
      word<LendAcross>("LendAcross", &Config::lend_across,
                       {{"any", LendAcross::kAny},
                        {"account", LendAcross::kAccount},
                        {"user", LendAcross::kUser}}),
      {"Guests", store_guests, guests_line},
      yes_no("AwayYields", &Config::away_yields),
      word<bool>("MoveProcesses", &Config::always_moves,
                 {{"safe", false}, {"always", true}}),
      number("MaxWeight", &Config::max_weight, 0.001, 1000),
      whole("SamplePeriod", &Config::sample_period_ms, 100, 60000),
      whole("MinSolveInterval", &Config::min_solve_interval_ms, 1, 60000),
      number("ReportMinTime", &Config::report_min_seconds, 0, 86400),
      word<ReportNotice>("ReportNotice", &Config::report_notice,
                         {{"off", ReportNotice::kOff},
                          {"problems", ReportNotice::kProblems},
                          {"all", ReportNotice::kAll}}),
      whole("CacheKeep", &Config::cache_keep_s, 0, 604800),
      word<std::string>("LogLevel", &Config::log_level,
                        {{"error", "error"},
                         {"warning", "warning"},
                         {"info", "info"},
                         {"debug", "debug"}}),
      path("HistoryFile", &Config::history_file),
      whole("HistoryRetention", &Config::history_retention_days, 1, 36500),
      whole("ReportRetention", &Config::report_retention_days, 1, 36500),
      text("MetricsFile", &Config::metrics_file, is_metrics_file,
           "an absolute path of at most 4095 bytes to a file NAME.prom",
           "no metrics are written"),
      field_key("ManagedCPUs", &Config::managed_cpus, cpu_list,
                "a CPU list such as 0-3,8, with CPUs 0 to 4095", same,
                "all but those kept for the system"),
      text("GPUType", &Config::gpu_type, is_config_name, kNameRule,
           "profiles name theirs"),
      path("SubmitTable", &Config::submit_table),
      path("SubmitSocket", &Config::submit_socket, kMaxSocketPathBytes),
      whole("SubmitNodeCores", &Config::submit_node_cores, 0, 4096),
      number("SubmitOvercommit", &Config::submit_overcommit, 0.1, 100),
      word<SubmitComment>("SubmitComment", &Config::submit_comment,
                          {{"no", SubmitComment::kNo},
                           {"comment", SubmitComment::kComment},
                           {"admin_comment", SubmitComment::kAdminComment}}),
      rate("SubmitNodeBandwidth", &Config::submit_node_bandwidth_bytes_per_s,
           "jobs get no loader_bw"),
      text("SubmitModel", &Config::submit_model, is_config_name, kNameRule,
           "jobs that name no model get no loader GRES"),
      {"Pool", nullptr, pool_lines},
      {"Controller", store_controllers, controller_line},
      word<bool>("ControllerListen", &Config::listens_everywhere,
                 {{"all", true}, {"own", false}}),
      whole("ControllerTimeout", &Config::controller_timeout_s, 2, 3600),
      path("ControllerStateDir", &Config::controller_state_dir),
      path("MungeSocket", &Config::munge_socket, kMaxSocketPathBytes,
           "this machine's"),
      text("ControllerUser", &Config::controller_user, is_account,
           kAccountRule),
      text("AgentUser", &Config::agent_user, is_account, kAccountRule),
  };
  return *kKeys;
}

bool is_absolute_path(const std::string& value, size_t max_bytes) {
  return !value.empty() && value.front() == '/' && value.size() <= max_bytes;
}

bool is_config_name(const std::string& value) {
  return is_name(value) && value[0] != '.';
}

Error not_allowed(const std::string& allowed) {
  return invalid("not valid; allowed: " + allowed);
}

std::string config_text(const Config& config) {
  std::string text;
  for (const ConfigKey& key : config_keys()) text += key.lines(config);
  return text;
}

}  // namespace penstock
