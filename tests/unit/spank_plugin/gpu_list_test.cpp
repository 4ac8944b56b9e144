#include "spank_plugin/gpu_list.h"

#include <string>

#include "tests/unit/catch.h"

using namespace penstock::spank;

TEST_CASE("a batch and an interactive step have the job's GPUs") {
  CHECK(gpu_variable(0xfffffffb) == std::string("SLURM_JOB_GPUS"));
  CHECK(gpu_variable(0xfffffffa) == std::string("SLURM_JOB_GPUS"));
}

TEST_CASE("every other step has its own GPUs") {
  for (uint32_t step : {0u, 7u, 0xfffffffcu}) {
    CHECK(gpu_variable(step) == std::string("SLURM_STEP_GPUS"));
  }
}

TEST_CASE("a loaded library is found by its file's name alone") {
  CHECK(is_loaded("libc.so.6"));
  CHECK_FALSE(is_loaded("libc.so"));
  CHECK_FALSE(is_loaded("gres_gpu.so"));
}
