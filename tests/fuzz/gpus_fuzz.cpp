// A task's GPUs, from its environment, and the list that a child that ran the
// driver's library writes.
#include "node_agent/plan/gpu_use.h"
#include "node_agent/plan/gpus.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const std::map<int, CpuSet> near_gpu = {{0, CpuSet({0, 1})},
                                          {7, CpuSet({2, 3})}};
  FUZZ_CHECK((cpus_near(near_gpu, text) - CpuSet({0, 1, 2, 3})).empty());
  if (const auto gpus = parse_gpus(text)) {
    FUZZ_CHECK(gpus->size() <= size_t{kMaxGpus});
    FUZZ_CHECK(*parse_gpus(format_gpus(*gpus)) == *gpus);
    for (const Gpu& gpu : *gpus) FUZZ_CHECK(to_string(gpu.pci).size() < 24);
  } else {
    FUZZ_CHECK(!gpus.error().message.empty());
  }
  std::string stream(text);
  if (const auto use = take_gpu_use(stream)) {
    FUZZ_CHECK(stream.size() <= text.size());
    if (*use) {
      FUZZ_CHECK((*use)->size() <= size_t{kMaxGpus});
      std::string again = format_gpu_use(**use);
      FUZZ_CHECK(**take_gpu_use(again) == **use && again.empty());
    }
  }
  return 0;
}
