#include "tools/penstock/site.h"

#include "tools/penstock/command.h"

namespace penstock {

Result<Config> site_config(const Site& site) {
  bool named = !site.config_path.empty();
  Result<Config> config = load_config(named ? site.config_path : kConfigPath);
  if (!config && !named && config.error().code == Code::kNotFound) {
    config = Config{};
  }
  if (!config) return config;
  if (!site.socket_path.empty()) config->socket_path = site.socket_path;
  if (!site.report_dir.empty()) config->report_dir = site.report_dir;
  return config;
}

}  // namespace penstock
