// What a GPU cannot do. Emulated, as a real one cannot be made to fail.
#include "tests/unit/exchange/device_ranks.h"
#include "tests/unit/exchange/emulated_cuda/runtime.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("where a GPU fails all ranks are told, and nobody waits for it") {
  const bool has_thread = GENERATE(false, true);
  const auto wrong = on_device_ranks(
      3, [&](auto transport, Device& device) -> std::string {
        const auto rank = unsigned(transport->rank());
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device, has_thread));
        std::string text = plan(context, layers);
        if (!text.empty()) return text;
        DeviceModel model(layers, rank, device);
        text = model.train(context, 2);
        if (!text.empty()) return text;
        if (rank == 1) emulated_cuda::fail_kernels(true);
        return model.train(context, 5);
      });
  emulated_cuda::fail_kernels(false);
  for (const std::string& one : wrong) {
    CHECK_THAT(one, ContainsSubstring("the GPU: ") &&
                        ContainsSubstring("launch failure"));
  }
  CHECK(emulated_cuda::allocated_bytes() == 0);
}

TEST_CASE("without memory in a GPU all ranks are told at the plan") {
  emulated_cuda::limit_memory(30'000);
  const auto wrong = on_device_ranks(
      2, [&](auto transport, Device& device) -> std::string {
        Context context(std::move(transport), quick_on(device));
        return plan(context, device_layers());
      });
  emulated_cuda::limit_memory(SIZE_MAX);
  for (const std::string& one : wrong) {
    CHECK_THAT(one, ContainsSubstring("bytes of the GPU's memory: out of "
                                      "memory"));
  }
  CHECK(emulated_cuda::allocated_bytes() == 0);
}
