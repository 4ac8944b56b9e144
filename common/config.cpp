#include "common/config.h"

#include <functional>
#include <map>
#include <set>

#include "common/config_lines.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMaxPools = 64;
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxPathBytes = 4095;
// sockaddr_un::sun_path has 108 bytes with its NUL.
constexpr size_t kMaxSocketPathBytes = 107;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A setter's error is "why; what is allowed", without key and line.
using Setter = std::function<Status(const std::string& value, Config& config)>;

Status not_allowed(const std::string& allowed) {
  return invalid("not valid; allowed: " + allowed);
}

bool valid_path(const std::string& value, size_t max_bytes) {
  return !value.empty() && value.front() == '/' && value.size() <= max_bytes;
}

bool valid_name(const std::string& value) {
  if (value.empty() || value.size() > kMaxNameBytes || value[0] == '.')
    return false;
  for (char c : lower(value))
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' &&
        c != '_' && c != '-')
      return false;
  return true;
}

constexpr const char* kNameRule =
    "1 to 64 letters, digits, '.', '_' or '-', not beginning with '.'";

Setter path(std::string Config::*field, size_t max_bytes = kMaxPathBytes) {
  return [=](const std::string& value, Config& config) -> Status {
    if (!valid_path(value, max_bytes))
      return not_allowed("an absolute path of at most " +
                         std::to_string(max_bytes) + " bytes");
    config.*field = value;
    return Done{};
  };
}

// node_exporter reads only files named *.prom.
Status set_metrics_file(const std::string& value, Config& config) {
  const bool has_stem = value.ends_with(".prom") && !value.ends_with("/.prom");
  if (!valid_path(value, kMaxPathBytes) || !has_stem)
    return not_allowed(
        "an absolute path of at most 4095 bytes to a file NAME.prom");
  config.metrics_file = value;
  return Done{};
}

// An allowed word and the field's value for it.
template <class T>
struct Word {
  const char* text;
  T value;
};

template <class T>
Setter word(T Config::*field, std::vector<Word<T>> words) {
  return [=](const std::string& value, Config& config) -> Status {
    std::string allowed;
    for (const Word<T>& candidate : words) {
      if (lower(value) == candidate.text) {
        config.*field = candidate.value;
        return Done{};
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(candidate.text);
    }
    return not_allowed(allowed);
  };
}

Setter yes_no(bool Config::*field) {
  return word<bool>(field, {{"yes", true}, {"no", false}});
}

Setter whole(uint64_t Config::*field, uint64_t low, uint64_t high) {
  return [=](const std::string& value, Config& config) -> Status {
    const auto number = parse_uint(value, low, high);
    if (!number)
      return not_allowed("a whole number from " + std::to_string(low) + " to " +
                         std::to_string(high));
    config.*field = *number;
    return Done{};
  };
}

Setter number(double Config::*field, double low, double high) {
  return [=](const std::string& value, Config& config) -> Status {
    const auto figure = parse_number(value, low, high);
    if (!figure)
      return not_allowed("a number from " + format_number(low) + " to " +
                         format_number(high));
    config.*field = *figure;
    return Done{};
  };
}

Setter rate(uint64_t Config::*field) {
  return [=](const std::string& value, Config& config) -> Status {
    const auto bytes_per_s = parse_rate_bytes_per_s(value);
    if (!bytes_per_s)
      return not_allowed("bytes/s over 0 with K, M, G or T, such as 2G");
    config.*field = *bytes_per_s;
    return Done{};
  };
}

Setter name(std::string Config::*field) {
  return [=](const std::string& value, Config& config) -> Status {
    if (!valid_name(value)) return not_allowed(kNameRule);
    config.*field = value;
    return Done{};
  };
}

Status set_managed_cpus(const std::string& value, Config& config) {
  const auto cpus = CpuSet::parse(value);
  if (!cpus || cpus->empty())
    return not_allowed("a CPU list such as 0-3,8, with CPUs 0 to 4095");
  config.managed_cpus = cpus->to_string();
  return Done{};
}

Status set_controllers(const std::string& value, Config& config) {
  auto controllers = parse_controllers(value);
  if (!controllers)
    return not_allowed("HOST[:PORT][,HOST[:PORT]...], at most 8 (" +
                       controllers.error().message + ")");
  config.controllers = *std::move(controllers);
  return Done{};
}

std::vector<Word<Policy>> policy_words() {
  std::vector<Word<Policy>> words;
  for (const char* name : kPolicyNames)
    words.push_back({name, static_cast<Policy>(words.size())});
  return words;
}

// Setters by lower-case key.
const std::map<std::string, Setter>& setters() {
  static const auto* const kSetters = new std::map<std::string, Setter>{
      {"socketpath", path(&Config::socket_path, kMaxSocketPathBytes)},
      {"statedir", path(&Config::state_dir)},
      {"reportdir", path(&Config::report_dir)},
      {"metricsfile", set_metrics_file},
      {"profiledir", path(&Config::profile_dir)},
      {"cgrouproot", path(&Config::cgroup_root)},
      {"cgroupname", name(&Config::cgroup_name)},
      {"policy", word<Policy>(&Config::policy, policy_words())},
      {"default",
       word<bool>(&Config::default_auto, {{"auto", true}, {"off", false}})},
      {"lendidle", yes_no(&Config::lend_idle)},
      {"lendacross", word<LendAcross>(&Config::lend_across,
                                      {{"any", LendAcross::kAny},
                                       {"account", LendAcross::kAccount},
                                       {"user", LendAcross::kUser}})},
      {"awayyields", yes_no(&Config::away_yields)},
      {"maxweight", number(&Config::max_weight, 0.001, 1000)},
      {"sampleperiod", whole(&Config::sample_period_ms, 100, 60000)},
      {"minsolveinterval", whole(&Config::min_solve_interval_ms, 1, 60000)},
      {"reportmintime", number(&Config::report_min_seconds, 0, 86400)},
      {"cachekeep", whole(&Config::cache_keep_s, 0, 604800)},
      {"loglevel",
       word<std::string>(&Config::log_level, {{"error", "error"},
                                              {"warning", "warning"},
                                              {"info", "info"},
                                              {"debug", "debug"}})},
      {"managedcpus", set_managed_cpus},
      {"controller", set_controllers},
      {"controllertimeout", whole(&Config::controller_timeout_s, 2, 3600)},
      {"controllerstatedir", path(&Config::controller_state_dir)},
      {"mungesocket", path(&Config::munge_socket, kMaxSocketPathBytes)},
      {"historyfile", path(&Config::history_file)},
      {"historyretention", whole(&Config::history_retention_days, 1, 36500)},
      {"submittable", path(&Config::submit_table)},
      {"submitsocket", path(&Config::submit_socket, kMaxSocketPathBytes)},
      {"submitnodecores", whole(&Config::submit_node_cores, 0, 4096)},
      {"submitnodebandwidth", rate(&Config::submit_node_bandwidth_bytes_per_s)},
      {"submitovercommit", number(&Config::submit_overcommit, 0.1, 100)},
      {"gputype", name(&Config::gpu_type)},
      {"submitmodel", name(&Config::submit_model)},
      {"submitcomment",
       word<SubmitComment>(&Config::submit_comment,
                           {{"no", SubmitComment::kNo},
                            {"comment", SubmitComment::kComment},
                            {"admin_comment", SubmitComment::kAdminComment}})},
  };
  return *kSetters;
}

Error refuse(const Setting& setting, const std::string& why) {
  return invalid(printable(setting.key) + "=" + printable(setting.value) +
                 ": " + why);
}

Error given_twice(const Setting& setting, int first_line) {
  return refuse(setting, "given twice, first on line " +
                             std::to_string(first_line) +
                             "; allowed: once in the file");
}

// Applies lines to a Config and remembers each key's line.
class Reader {
 public:
  explicit Reader(Config& config) : config_(config) {}

  Status read(const SettingLine& line) {
    if (lower(line.settings[0].key) == "pool") return read_pool(line);
    if (line.settings.size() > 1)
      return refuse(line.settings[1],
                    "second setting on the line; allowed: one (only a Pool "
                    "line has Path, Bandwidth and Shared)");
    return read_key(line.settings[0], line.number);
  }

 private:
  Status read_key(const Setting& setting, int line) {
    const std::string key = lower(setting.key);
    const auto found = setters().find(key);
    if (found == setters().end())
      return refuse(setting, "unknown key; allowed: those of penstock.conf(5)");
    const auto [first, is_new] = line_of_key_.emplace(key, line);
    if (!is_new) return given_twice(setting, first->second);
    Status status = found->second(setting.value, config_);
    if (!status) return refuse(setting, status.error().message);
    return Done{};
  }

  Status read_pool(const SettingLine& line) {
    const Setting& name = line.settings[0];
    PoolConfig pool;
    if (!valid_name(name.value))
      return refuse(name, std::string("not valid; allowed: ") + kNameRule);
    pool.name = name.value;
    std::set<std::string> seen;
    for (size_t i = 1; i < line.settings.size(); ++i) {
      const Setting& setting = line.settings[i];
      const std::string key = lower(setting.key);
      if (!seen.insert(key).second)
        return refuse(setting, "given twice on this line; allowed: once");
      if (Status status = read_pool_key(key, setting, pool); !status)
        return status;
    }
    if (pool.path.empty() || pool.bandwidth_bytes_per_s == 0)
      return refuse(name,
                    "incomplete; allowed: Pool=NAME Path=/dir Bandwidth=RATE");
    return add_pool(line, std::move(pool));
  }

  static Status read_pool_key(const std::string& key, const Setting& setting,
                              PoolConfig& pool) {
    if (key == "path") {
      if (!valid_path(setting.value, kMaxPathBytes))
        return refuse(setting, "not valid; allowed: an absolute path");
      pool.path = setting.value;
    } else if (key == "bandwidth") {
      const auto rate = parse_rate_bytes_per_s(setting.value);
      if (!rate)
        return refuse(setting,
                      "not valid; allowed: bytes/s over 0 with K, M, G "
                      "or T, such as 2G");
      pool.bandwidth_bytes_per_s = *rate;
    } else if (key == "shared") {
      if (lower(setting.value) != "yes" && lower(setting.value) != "no")
        return refuse(setting, "not valid; allowed: yes, no");
      pool.shared = lower(setting.value) == "yes";
    } else {
      return refuse(setting,
                    "unknown key on a Pool line; allowed: Path, Bandwidth and "
                    "Shared");
    }
    return Done{};
  }

  Status add_pool(const SettingLine& line, PoolConfig pool) {
    if (config_.pools.size() >= kMaxPools)
      return refuse(line.settings[0],
                    "too many pools; allowed: " + std::to_string(kMaxPools));
    for (size_t i = 0; i < config_.pools.size(); ++i) {
      const bool same_name = config_.pools[i].name == pool.name;
      if (!same_name && config_.pools[i].path != pool.path) continue;
      return refuse(line.settings[0],
                    std::string(same_name ? "name" : "path") +
                        " given twice, first on line " +
                        std::to_string(pool_lines_[i]) +
                        "; allowed: pools that differ in both");
    }
    config_.pools.push_back(std::move(pool));
    pool_lines_.push_back(line.number);
    return Done{};
  }

  Config& config_;
  std::map<std::string, int> line_of_key_;
  std::vector<int> pool_lines_;
};

}  // namespace

Result<Config> parse_config(std::string_view text,
                            const std::string& file_name) {
  Result<std::vector<SettingLine>> lines = split_config(text, file_name);
  if (!lines) return std::move(lines).error();
  Config config;
  Reader reader(config);
  for (const SettingLine& line : *lines)
    if (Status status = reader.read(line); !status)
      return std::move(status).error().wrap(file_name + ":" +
                                            std::to_string(line.number));
  return config;
}

}  // namespace penstock
