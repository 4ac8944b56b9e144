// Runs what it is linked with on a real GPU. Without one it skips itself.
#include <cuda_runtime_api.h>

#include <cstdio>
#define CATCH_CONFIG_RUNNER
#include "tests/unit/catch.h"

int main(int count, char** arguments) {
  constexpr int kSkipped = 77;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no GPU");
    return kSkipped;
  }
  return Catch::Session().run(count, arguments);
}
