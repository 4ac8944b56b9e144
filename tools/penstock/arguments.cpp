#include "tools/penstock/command.h"

namespace penstock {

int exit_code(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kInfeasible:
      return kExitUsage;
    case Code::kNotFound:
    case Code::kPermissionDenied:
    case Code::kUnavailable:
      return kExitNoData;
    case Code::kIo:
    case Code::kLimit:
      return kExitInternal;
  }
  return kExitInternal;
}

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
