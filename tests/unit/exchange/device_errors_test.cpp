// Failures of a GPU, emulated because a real one cannot be made to fail.
#include <algorithm>
#include <atomic>
#include <barrier>

#include "exchange/sparse/to_everybody.h"
#include "exchange/sparse/two_phase.h"
#include "tests/unit/exchange/device_ranks.h"
#include "tests/unit/exchange/emulated_cuda/runtime.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the failure of one GPU fails all ranks without waiting") {
  const bool has_thread = GENERATE(false, true);
  const auto wrong =
      on_device_ranks(3, [&](auto transport, Device& device) -> std::string {
        const auto rank = unsigned(transport->rank());
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device, has_thread));
        std::string text = plan(context, layers);
        if (!text.empty()) return text;
        DeviceModel model(layers, rank, device);
        text = model.train(context, 2);
        if (!text.empty()) return text;
        if (rank == 1) emulated_cuda::fail_after(0);
        return model.train(context, 5);
      });
  emulated_cuda::fail_never();
  for (const std::string& one : wrong) {
    CHECK_THAT(one, ContainsSubstring("launch failure"));
  }
  CHECK(emulated_cuda::allocated_bytes() == 0);
}

namespace {

class Watched : public AddScaledOnDevice {
 public:
  using AddScaledOnDevice::AddScaledOnDevice;
  void done() override { is_done = true; }
  bool is_done = false;
};

}  // namespace

TEST_CASE("a step with any failed operation is never reported as done") {
  const Method method = GENERATE(Method::kDense, Method::kTwoPhase);
  const std::vector<LayerOptions> layers = {
      {.name = "a", .elements = 300, .method = method}};
  const auto has_failed = [](const std::string& text) { return !text.empty(); };
  int failed = 0;
  // A rank that gets no more messages delays each try by a second.
  const uint64_t stride = method == Method::kDense ? 1 : 3;
  for (uint64_t begun = 0;; begun += stride) {
    CAPTURE(begun);
    std::barrier ready(2);
    std::atomic<bool> is_first = true;
    const auto wrong =
        on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
          Context context(std::move(transport), quick_on(device));
          if (std::string text = plan(context, layers); !text.empty()) {
            return text;
          }
          const OnDevice<float> gradient(std::vector<float>(300, 2));
          const OnDevice<float> weights(std::vector<float>(300));
          Watched update(device, weights.data(), 1);
          ready.arrive_and_wait();
          if (is_first.exchange(false)) emulated_cuda::fail_after(begun);
          ready.arrive_and_wait();
          Status done =
              context.submit(0, {gradient.data(), gradient.size()}, update);
          if (done) done = context.wait(0);
          if (done.ok() != update.is_done) return "it was not done";
          return done ? "" : done.error().message;
        });
    emulated_cuda::fail_never();
    if (std::ranges::none_of(wrong, has_failed)) break;
    ++failed;
    for (const std::string& one : wrong) {
      CAPTURE(wrong[0], wrong[1]);
      if (has_failed(one)) CHECK_THAT(one, ContainsSubstring("launch failure"));
    }
  }
  CHECK(failed >= 3);  // a copy out, a copy back, and an update
}

TEST_CASE("an exchange can end while gradients are under way") {
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto layers = device_layers();
        auto context = std::make_unique<Context>(std::move(transport),
                                                 quick_on(device, true));
        if (std::string text = plan(*context, layers); !text.empty()) {
          return text;
        }
        DeviceModel model(layers, 1, device);
        for (size_t layer = 1; layer < layers.size(); ++layer) {
          std::string text = model.submit(*context, layer);
          if (!text.empty()) return text;
        }
        context.reset();
        return "";
      });
  check_all(wrong, "");
}

TEST_CASE("a rank without GPU memory fails the plan of the others") {
  // There is memory for one rank's two allocations of the plan only, in any
  // order: 11 kB of residuals and 41 kB for copies.
  const auto layers = device_layers();
  std::barrier ready(2);
  std::atomic<bool> is_first = true;
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        DeviceModel model(layers, 1, device);
        ready.arrive_and_wait();
        if (is_first.exchange(false)) {
          emulated_cuda::limit_memory(emulated_cuda::allocated_bytes() +
                                      70'000);
        }
        ready.arrive_and_wait();
        Context context(std::move(transport), quick_on(device));
        if (std::string text = plan(context, layers); !text.empty()) {
          return "at the plan: " + text;
        }
        return model.train(context, 1);
      });
  emulated_cuda::limit_memory(SIZE_MAX);
  const auto has_planned = [](const std::string& text) {
    return !text.starts_with("at the plan: ");
  };
  CHECK(std::ranges::count_if(wrong, has_planned) == 1);
  for (const std::string& one : wrong) {
    CHECK_THAT(one, ContainsSubstring("bytes of the GPU's memory: out of "
                                      "memory"));
  }
  CHECK(emulated_cuda::allocated_bytes() == 0);
}

TEST_CASE("an earlier CUDA error is not reported as the exchange's") {
  CHECK_FALSE(open_cuda_device(9999).ok());
  const auto device = open_cuda_device(0);
  REQUIRE(device.ok());
  REQUIRE((*device)->reserve(1, 1).ok());
  REQUIRE(cudaSetDevice(9999) != cudaSuccess);
  const OnDevice<float> gradient(std::vector<float>(5, 1));
  const OnDevice<float> sums(std::vector<float>(5, 1));
  (*device)->accumulate(gradient.data(), {.wide = sums.data(), .elements = 5},
                        nullptr);
  CHECK((*device)->status().ok());
  CHECK(sums.values() == std::vector<float>(5, 2));
}

TEST_CASE("a failed read by a GPU gives no layer state") {
  std::barrier ready(2);
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto layers = device_layers();
        const bool is_first = transport->rank() == 0;
        Context context(std::move(transport), quick_on(device));
        std::string text = plan(context, layers);
        DeviceModel model(layers, 1, device);
        if (text.empty()) text = model.train(context, 2);
        if (!text.empty()) return text;
        ready.arrive_and_wait();
        if (!is_first) return text;
        emulated_cuda::fail_after(0);
        const auto state = context.layer_state(0);
        emulated_cuda::fail_never();
        return state ? "a state" : state.error().message;
      });
  CHECK(wrong[0] ==
        "layer a: the GPU: the reading of a residual: launch failure");
  CHECK(wrong[1].empty());
}

TEST_CASE("a failed selection by a GPU is not sent as an empty message") {
  const bool is_two_phase = GENERATE(false, true);
  const auto device = open_cuda_device(0);
  REQUIRE(device.ok());
  REQUIRE((*device)->reserve(1, 1).ok());
  Arena gpu = std::move(*Arena::of(1 << 12, &(*device)->memory()));
  Arena host = std::move(*Arena::of(1 << 16));
  Residual residual = Residual::on(**device, Residual::float32(100, gpu));
  ThreadRanks alone(1);
  const auto transport = alone.transport(0);
  transport->reserve(8);
  const SparseShape shape{
      .elements = 100, .send_entries = 10, .keep_entries = 10};
  std::unique_ptr<SparseExchange> exchange;
  if (is_two_phase) {
    exchange = std::make_unique<TwoPhase>(*transport, host,
                                          std::vector<SparseShape>{shape});
  } else {
    exchange = std::make_unique<ToEverybody>(*transport, host,
                                             std::vector<SparseShape>{shape});
  }
  const SparseExchange::Input input{
      .shape = shape, .threshold = 1, .residual = &residual};
  REQUIRE(exchange->begin(input).ok());
  REQUIRE(exchange->advance().ok());
  emulated_cuda::fail_after(0);
  const auto begun = exchange->begin(input);
  emulated_cuda::fail_never();
  REQUIRE_FALSE(begun.ok());
  CHECK(begun.error().message == "the GPU: the selection: launch failure");
}

TEST_CASE("an exchange on the second GPU does not use the first") {
  emulated_cuda::made_current();
  const auto layers = device_layers();
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    // Like torch.cuda.device(), which sets the current GPU of a thread.
    if (cudaSetDevice(1) != cudaSuccess) return "there is no second GPU";
    const auto device = open_cuda_device(1);
    if (!device) return device.error().message;
    Context context(std::move(transport), quick_on(**device, true));
    if (std::string text = plan(context, layers); !text.empty()) return text;
    DeviceModel model(layers, 1, **device);
    return model.train(context, 3);
  });
  check_all(wrong, "");
  CHECK(emulated_cuda::made_current() == std::set<int>{1});
}
