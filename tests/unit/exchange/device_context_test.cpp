// An exchange of gradients in GPU memory.
#include <cmath>
#include <mutex>

#include "tests/unit/exchange/device_ranks.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

struct OfRank {
  std::vector<std::vector<float>> given, weights, left;
};

std::vector<std::vector<float>> residuals_of(const Context& context,
                                             const Model& model) {
  std::vector<std::vector<float>> all;
  for (size_t layer = 0; layer < model.given.size(); ++layer) {
    all.push_back(context.layer_state(int(layer))->residual);
    all.back().resize(model.given[layer].size());
  }
  return all;
}

OfRank of_rank(const DeviceModel& model, const Context& context) {
  return {model.host().given, model.weights(),
          residuals_of(context, model.host())};
}

void check_conserved(const std::vector<OfRank>& ranks) {
  for (size_t layer = 0; layer < ranks[0].given.size(); ++layer) {
    CAPTURE(layer);
    std::vector<float> given(ranks[0].given[layer].size());
    std::vector<float> kept = ranks[0].weights[layer];
    for (const OfRank& rank : ranks) {
      CHECK(rank.weights[layer] == ranks[0].weights[layer]);
      for (size_t i = 0; i < given.size(); ++i) {
        given[i] += rank.given[layer][i];
        kept[i] += rank.left[layer][i];
      }
    }
    CHECK(given == kept);
  }
}

}  // namespace

TEST_CASE("on a GPU no value is lost, and all ranks get the same weights") {
  const unsigned seed = std::random_device{}();
  const auto [ranks, has_thread] = GENERATE(
      table<int, bool>({{1, false}, {2, true}, {3, false}, {5, true}}));
  CAPTURE(seed, ranks, has_thread);
  std::vector<OfRank> found(static_cast<size_t>(ranks));
  const auto wrong = on_device_ranks(
      ranks, [&](auto transport, Device& device) -> std::string {
        const auto rank = size_t(transport->rank());
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device, has_thread));
        std::string text = plan(context, layers);
        if (!text.empty()) return text;
        DeviceModel model(layers, seed + unsigned(rank), device);
        text = model.train(context, 10);
        found[rank] = of_rank(model, context);
        return text;
      });
  check_all(wrong, "");
  check_conserved(found);
}

TEST_CASE("on a GPU sums and residuals have the same bits as on a CPU") {
  const unsigned seed = std::random_device{}();
  const auto residual = GENERATE(ResidualKind::kFloat32,
                                 ResidualKind::kBfloat16, ResidualKind::kHost);
  CAPTURE(seed, residual);
  // No message is full: a full one might take other elements.
  const std::vector<LayerOptions> layers = {
      {.name = "dense", .elements = 500, .method = Method::kDense},
      {.name = "sparse",
       .elements = 2000,
       .density = 0.1,
       .residual = residual,
       .method = Method::kAllgather}};
  const auto normal_gradients = [](Model& model) {
    std::normal_distribution<float> normal;
    for (auto& layer : model.gradients) {
      for (float& value : layer) value = normal(model.random);
    }
  };
  std::vector<OfRank> on_gpu(2), on_cpu(2);
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto rank = unsigned(transport->rank());
        ContextOptions options = quick_on(device);
        options.exact_steps = 1;
        Context context(std::move(transport), options);
        std::string text = plan(context, layers);
        if (!text.empty()) return text;
        DeviceModel model(layers, seed + rank, device);
        text = model.train(context, 6, normal_gradients);
        on_gpu[rank] = of_rank(model, context);
        return text;
      });
  check_all(wrong, "");
  const auto wrong_there = on_ranks(2, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    ContextOptions options = quick();
    options.exact_steps = 1;
    Context context(std::move(transport), options);
    std::string text = plan(context, layers);
    if (!text.empty()) return text;
    Model model(layers, seed + rank);
    text = train(context, model, 6, normal_gradients);
    on_cpu[rank] = {model.given, model.weights, residuals_of(context, model)};
    return text;
  });
  check_all(wrong_there, "");
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(on_gpu[rank].weights == on_cpu[rank].weights);
    CHECK(on_gpu[rank].left == on_cpu[rank].left);
  }
}

TEST_CASE("on a GPU elements beyond a full message stay in the residual") {
  // The same elements are large in each step, all in one region.
  constexpr size_t kLarge = 32;
  const auto residual =
      GENERATE(ResidualKind::kFloat32, ResidualKind::kBfloat16);
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        Context context(std::move(transport), quick_on(device));
        const std::vector<LayerOptions> layers = {
            {.name = "a",
             .elements = 100 * kLarge,
             .residual = residual,
             .method = Method::kTwoPhase}};
        if (std::string text = plan(context, layers); !text.empty()) {
          return text;
        }
        std::vector<float> values(layers[0].elements);
        std::fill_n(values.begin(), kLarge, 1.0f);
        const OnDevice<float> gradient(values);
        const OnDevice<float> weights(std::vector<float>(values.size()));
        AddScaledOnDevice update(device, weights.data(), 1);
        for (int step = 0; step < 40; ++step) {
          Status done =
              context.submit(0, {gradient.data(), gradient.size()}, update);
          if (done) done = context.wait(0);
          if (!done) return done.error().message;
        }
        const std::vector<float> sums = weights.values();
        for (size_t i = 0; i < kLarge; ++i) {
          if (sums[i] < 60) {  // of 80
            return "element " + std::to_string(i) + " was passed over";
          }
        }
        return "";
      });
  check_all(wrong, "");
}

TEST_CASE("on a GPU saved states and changed densities lose no value") {
  std::vector<OfRank> found(2);
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto rank = size_t(transport->rank());
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device));
        std::string text = plan(context, layers);
        if (!text.empty()) return text;
        DeviceModel model(layers, unsigned(rank), device);
        for (const double density : {0.2, 0.01}) {
          text = model.train(context, 5);
          if (!text.empty()) return text;
          for (size_t layer = 0; layer < layers.size(); ++layer) {
            const auto state = *context.layer_state(int(layer));
            auto zeros = state;
            std::ranges::fill(zeros.residual, 0.0f);
            Status set = context.set_layer_state(int(layer), zeros);
            if (set) set = context.set_layer_state(int(layer), state);
            if (!set) return set.error().message;
            if (context.layer_state(int(layer))->residual != state.residual) {
              return "another residual than was set";
            }
          }
          const Status set = context.set_densities(
              std::vector<double>(layers.size(), density));
          if (!set) return set.error().message;
        }
        text = model.train(context, 5);
        found[rank] = of_rank(model, context);
        return text;
      });
  check_all(wrong, "");
  check_conserved(found);
}

TEST_CASE("on a GPU a NaN gradient is applied on no rank") {
  const size_t layer = GENERATE(range(size_t(0), size_t(7)));
  CAPTURE(layer);
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto rank = transport->rank();
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device));
        if (std::string text = plan(context, layers); !text.empty()) {
          return text;
        }
        DeviceModel model(layers, unsigned(rank), device);
        if (rank == 1) model.host().gradients[layer][0] = std::nanf("");
        std::string errors;
        for (size_t i = 0; i < layers.size(); ++i) {
          if (std::string text = model.submit(context, i); !text.empty()) {
            return text;
          }
        }
        for (size_t i = 0; i < layers.size(); ++i) {
          const Status done = context.wait(int(i));
          if (!done) errors += done.error().message;
        }
        const auto weights = model.weights();
        for (const float weight : weights[layer]) {
          if (weight != 0) return "it was applied";
        }
        return errors;
      });
  CHECK_THAT(wrong[0],
             Catch::Matchers::ContainsSubstring(
                 "the gradient of layer " + device_layers()[layer].name +
                 " was infinite or no number on some rank"));
  CHECK(wrong[0] == wrong[1]);
}

TEST_CASE("residuals are in GPU memory, messages in host memory") {
  const auto wrong =
      on_device_ranks(2, [&](auto transport, Device& device) -> std::string {
        const auto layers = device_layers();
        Context context(std::move(transport), quick_on(device));
        if (std::string text = plan(context, layers); !text.empty()) {
          return text;
        }
        for (int layer = 0; layer < int(layers.size()); ++layer) {
          if (context.keeps_gradient(layer)) return "it keeps a gradient";
        }
        const ContextStats stats = context.stats();
        const size_t residuals = (1500 + 1000) * 4 + 700 * 2;
        const size_t planned = stats.planned_bytes - device.reserved_bytes();
        if (planned < residuals || planned > residuals + 3 * 64) {
          return "residuals of " + std::to_string(planned) + " bytes";
        }
        // Entries for a copy, 8 bytes each, and the counts of a threshold.
        if (device.reserved_bytes() < 4096 * 8 ||
            device.reserved_bytes() > 4096 * 8 + 10'000) {
          return "for copies " + std::to_string(device.reserved_bytes());
        }
        if (stats.used_bytes != stats.planned_bytes ||
            stats.used_host_bytes != stats.planned_host_bytes) {
          return "another amount";
        }
        return "";
      });
  check_all(wrong, "");
}
