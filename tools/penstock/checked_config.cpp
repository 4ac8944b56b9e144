#include "tools/penstock/checked_config.h"

#include "predictor/gpu_table.h"

namespace penstock {

Result<Config> load_checked_config(const std::string& file) {
  Result<Config> config = load_config(file);
  if (!config) return config;
  if (!config->gpu_type.empty() && !find_gpu(config->gpu_type).known) {
    return invalid(file + ": GPUType=" + config->gpu_type +
                   ": not known; penstock predict --list-gpus has the types");
  }
  return config;
}

}  // namespace penstock
