#include "spank_plugin/gpu_list.h"

#include <link.h>

#include <string_view>

namespace penstock::spank {
namespace {

// slurm.h: SLURM_BATCH_SCRIPT and SLURM_INTERACTIVE_STEP, which have the job's
// GPUs.
constexpr uint32_t kBatchStep = 0xfffffffb;
constexpr uint32_t kInteractiveStep = 0xfffffffa;

int compare(dl_phdr_info* library, size_t, void* file_name) {
  const std::string_view path =
      library->dlpi_name != nullptr ? library->dlpi_name : "";
  // Without '/', rfind() gives npos, and the whole path is the name.
  return path.substr(path.rfind('/') + 1) ==
         static_cast<const char*>(file_name);
}

}  // namespace

const char* gpu_variable(uint32_t step_id) {
  return step_id == kBatchStep || step_id == kInteractiveStep
             ? "SLURM_JOB_GPUS"
             : "SLURM_STEP_GPUS";
}

bool is_loaded(const char* file_name) {
  return ::dl_iterate_phdr(compare, const_cast<char*>(file_name)) != 0;
}

}  // namespace penstock::spank
