#include "common/config.h"

#include <map>
#include <set>

#include "common/config_keys.h"
#include "common/config_lines.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMaxPools = 64;

const ConfigKey* find_key(const std::string& name) {
  for (const ConfigKey& key : config_keys())
    if (lower_case(key.name) == lower_case(name)) return &key;
  return nullptr;
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
    const ConfigKey* key = find_key(line.settings[0].key);
    if (key && !key->store) {
      return lower_case(key->name) == "mode" ? read_mode(line)
                                             : read_pool(line);
    }
    if (line.settings.size() > 1)
      return refuse(line.settings[1],
                    "second setting on the line; allowed: one (only Pool and "
                    "Mode lines have several)");
    return read_key(key, line.settings[0], line.number);
  }

 private:
  Status read_key(const ConfigKey* key, const Setting& setting, int line) {
    if (!key)
      return refuse(setting, "unknown key; allowed: those of penstock.conf(5)");
    const auto [first, is_new] = line_of_key_.emplace(key, line);
    if (!is_new) return given_twice(setting, first->second);
    Status status = key->store(setting.value, config_);
    if (!status) return refuse(setting, status.error().message);
    return Done{};
  }

  Status read_mode(const SettingLine& line) {
    if (config_.modes.size() >= kMaxModeRules)
      return refuse(line.settings[0], "too many lines; allowed: " +
                                          std::to_string(kMaxModeRules));
    Result<ModeRule> rule = parse_mode_rule(line.settings);
    if (!rule) return std::move(rule).error();
    config_.modes.push_back(*std::move(rule));
    return Done{};
  }

  Status read_pool(const SettingLine& line) {
    const Setting& name = line.settings[0];
    PoolConfig pool;
    if (!is_config_name(name.value))
      return refuse(name, not_allowed(kNameRule).message);
    pool.name = name.value;
    std::set<std::string> seen;
    for (size_t i = 1; i < line.settings.size(); ++i) {
      const Setting& setting = line.settings[i];
      const std::string key = lower_case(setting.key);
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
      if (!is_absolute_path(setting.value))
        return refuse(setting, not_allowed("an absolute path").message);
      pool.path = setting.value;
    } else if (key == "bandwidth") {
      const auto rate = parse_rate_bytes_per_s(setting.value);
      if (!rate) return refuse(setting, not_allowed(kRateRule).message);
      pool.bandwidth_bytes_per_s = *rate;
    } else if (key == "shared") {
      if (lower_case(setting.value) != "yes" &&
          lower_case(setting.value) != "no")
        return refuse(setting, not_allowed("yes, no").message);
      pool.shared = lower_case(setting.value) == "yes";
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
  std::map<const ConfigKey*, int> line_of_key_;
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
