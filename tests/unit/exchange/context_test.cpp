#include "exchange/context/context.h"

#include <algorithm>
#include <mutex>

#include "tests/unit/catch.h"
#include "tests/unit/exchange/context_ranks.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

// All methods at once, and small layers between them.
std::vector<LayerOptions> model_layers() {
  return {{.name = "a", .elements = 3000, .method = Method::kTwoPhase},
          {.name = "bias", .elements = 7},
          {.name = "b",
           .elements = 2000,
           .density = 0.1,
           .method = Method::kAllgather},
          {.name = "c", .elements = 1000, .method = Method::kDense},
          {.name = "norm", .elements = 64},
          {.name = "d",
           .elements = 5000,
           .density = 0.02,
           .residual = ResidualKind::kHost,
           .method = Method::kTwoPhase},
          {.name = "e",
           .elements = 1500,
           .density = 0.05,
           .residual = ResidualKind::kBfloat16,
           .method = Method::kTwoPhase},
          {.name = "f", .elements = 1, .method = Method::kTwoPhase}};
}

// Sums over all ranks, to be compared when all are done.
struct Totals {
  std::mutex mutex;
  std::vector<std::vector<double>> given, left;
  std::vector<std::vector<std::vector<float>>> weights;  // of each rank

  void add(const Model& model, const Context& context) {
    const std::lock_guard lock(mutex);
    given.resize(model.given.size());
    left.resize(model.given.size());
    for (size_t layer = 0; layer < model.given.size(); ++layer) {
      given[layer].resize(model.given[layer].size());
      left[layer].resize(model.given[layer].size());
      const auto state = *context.layer_state(int(layer));
      for (size_t i = 0; i < model.given[layer].size(); ++i) {
        given[layer][i] += model.given[layer][i];
        if (!state.residual.empty()) left[layer][i] += state.residual[i];
      }
    }
    weights.push_back(model.weights);
  }
};

void check_conserved(const Totals& totals) {
  for (const auto& weights : totals.weights) {
    CHECK(weights == totals.weights[0]);
  }
  for (size_t layer = 0; layer < totals.given.size(); ++layer) {
    for (size_t i = 0; i < totals.given[layer].size(); ++i) {
      const double applied = totals.weights[0][layer][i];
      if (totals.given[layer][i] != applied + totals.left[layer][i]) {
        FAIL("layer " << layer << ", element " << i << ": given "
                      << totals.given[layer][i] << ", applied " << applied
                      << ", left " << totals.left[layer][i]);
      }
    }
  }
}

}  // namespace

TEST_CASE(
    "all methods together lose no value, and all ranks get the same weights") {
  const unsigned seed = std::random_device{}();
  const int ranks = GENERATE(1, 2, 3, 5, 8);
  const bool has_thread = GENERATE(false, true);
  CAPTURE(seed, ranks, has_thread);
  Totals totals;
  const auto wrong = on_ranks(ranks, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    Context context(std::move(transport), quick(has_thread));
    const auto layers = model_layers();
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, seed + rank);
    if (std::string text = train(context, model, 30); !text.empty()) {
      return text;
    }
    totals.add(model, context);
    return "";
  });
  check_all(wrong, "");
  check_conserved(totals);
}

TEST_CASE("weights are the same on all ranks after 1,000 steps") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  Totals totals;
  const auto wrong = on_ranks(3, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    Context context(std::move(transport), quick());
    const auto layers = model_layers();
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, seed + rank);
    for (AddScaled& update : model.updates) {
      const auto layer = size_t(&update - model.updates.data());
      update = AddScaled(model.weights[layer], -0.1f / 3);  // inexact sums
    }
    if (std::string text = train(context, model, 1000); !text.empty()) {
      return text;
    }
    totals.add(model, context);
    return "";
  });
  check_all(wrong, "");
  for (const auto& weights : totals.weights) {
    CHECK(weights == totals.weights[0]);
  }
}

TEST_CASE("layers may be submitted in any order, different on each rank") {
  const bool has_thread = GENERATE(false, true);
  const unsigned seed = std::random_device{}();
  CAPTURE(seed, has_thread);
  Totals totals;
  const auto wrong = on_ranks(3, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    Context context(std::move(transport), quick(has_thread));
    const auto layers = model_layers();
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, seed + rank);
    std::vector<int> order(layers.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int(i);
    for (int step = 0; step < 20; ++step) {
      std::shuffle(order.begin(), order.end(), model.random);
      model.next_gradients();
      for (const int layer : order) {
        const Status submitted =
            context.submit(layer, model.gradients[size_t(layer)],
                           model.updates[size_t(layer)]);
        if (!submitted) return submitted.error().message;
      }
      std::shuffle(order.begin(), order.end(), model.random);
      for (const int layer : order) {
        const Status done = context.wait(layer);
        if (!done) return done.error().message;
      }
    }
    totals.add(model, context);
    return "";
  });
  check_all(wrong, "");
  check_conserved(totals);
}

TEST_CASE("elements beyond a message's size are sent later") {
  // The same large elements of one region each step, more than fit into its
  // message.
  constexpr size_t kLarge = 32;
  const auto residual =
      GENERATE(ResidualKind::kFloat32, ResidualKind::kBfloat16);
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    Context context(std::move(transport), quick());
    const std::vector<LayerOptions> layers = {{.name = "a",
                                               .elements = 100 * kLarge,
                                               .residual = residual,
                                               .method = Method::kTwoPhase}};
    if (std::string text = plan(context, layers); !text.empty()) return text;
    std::vector<float> gradient(layers[0].elements), weights(gradient.size());
    std::fill_n(gradient.begin(), kLarge, 1.0f);
    AddScaled update(weights, 1);
    for (int step = 0; step < 40; ++step) {
      Status done = context.submit(0, gradient, update);
      if (done) done = context.wait(0);
      if (!done) return done.error().message;
    }
    for (size_t i = 0; i < kLarge; ++i) {
      if (weights[i] < 60) {  // of 80
        return "element " + std::to_string(i) + " was passed over";
      }
    }
    return "";
  });
  check_all(wrong, "");
}

TEST_CASE("memory use equals the plan") {
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    Context context(std::move(transport), quick());
    const auto layers = model_layers();
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, 1);
    if (std::string text = train(context, model, 3); !text.empty()) return text;
    const ContextStats stats = context.stats();
    if (stats.used_bytes != stats.planned_bytes) return "another amount";
    if (stats.planned_host_bytes < 5000 * sizeof(float)) return "no host arena";
    // Residuals of a, b, e (half) and f; the buckets; and messages.
    const size_t least = (3000 + 2000 + 750 + 1 + 71) * sizeof(float);
    if (stats.planned_bytes < least) return "too little";
    if (stats.planned_bytes > 3 * least) return "too much";
    if (stats.sent_bytes == 0) return "nothing was sent";
    return "";
  });
  check_all(wrong, "");
}

TEST_CASE("a single rank applies its gradients unchanged and uses no memory") {
  const auto wrong = on_ranks(1, [&](auto transport) -> std::string {
    Context context(std::move(transport), quick());
    const std::vector<LayerOptions> layers = {{.name = "a", .elements = 50},
                                              {.name = "b", .elements = 5000}};
    if (std::string text = plan(context, layers); !text.empty()) return text;
    if (context.stats().planned_bytes != 0) return "it has memory";
    Model model(layers, 1);
    model.next_gradients();
    for (int layer = 0; layer < 2; ++layer) {
      const auto submitted = context.submit(
          layer, model.gradients[size_t(layer)], model.updates[size_t(layer)]);
      if (!submitted) return submitted.error().message;
      if (model.weights[size_t(layer)] != model.given[size_t(layer)]) {
        return "it was not applied at once";
      }
    }
    return "";
  });
  check_all(wrong, "");
}

TEST_CASE("a run resumed from a saved state equals an uninterrupted one") {
  std::vector<std::vector<LayerState>> saved(2);
  std::vector<std::vector<std::vector<float>>> at_once(2), resumed(2);
  const auto layers = model_layers();
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    const auto rank = size_t(transport->rank());
    Context context(std::move(transport), quick());
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, unsigned(rank));
    if (std::string text = train(context, model, 10); !text.empty()) {
      return text;
    }
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      saved[rank].push_back(*context.layer_state(int(layer)));
    }
    resumed[rank] = model.weights;
    if (std::string text = train(context, model, 10); !text.empty()) {
      return text;
    }
    at_once[rank] = model.weights;
    return "";
  });
  check_all(wrong, "");
  const auto again = on_ranks(2, [&](auto transport) -> std::string {
    const auto rank = size_t(transport->rank());
    Context context(std::move(transport), quick());
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, unsigned(rank));
    for (int step = 0; step < 10; ++step) model.next_gradients();
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      model.weights[layer] = resumed[rank][layer];
      const Status set =
          context.set_layer_state(int(layer), saved[rank][layer]);
      if (!set) return set.error().message;
    }
    if (std::string text = train(context, model, 10); !text.empty()) {
      return text;
    }
    resumed[rank] = model.weights;
    if (context.set_layer_state(0, saved[rank][1])) return "another's state";
    return "";
  });
  check_all(again, "");
  CHECK(resumed == at_once);
}

TEST_CASE("elements beyond 2^24 are summed at their own indices") {
  constexpr size_t kElements = (size_t{1} << 24) + 1000;
  const Method method = GENERATE(Method::kTwoPhase, Method::kAllgather);
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    const float own = transport->rank() == 0 ? 3 : 5;
    Context context(std::move(transport), quick());
    const std::vector<LayerOptions> layers = {{.name = "large",
                                               .elements = kElements,
                                               .density = 1e-5,
                                               .method = method}};
    if (std::string text = plan(context, layers); !text.empty()) return text;
    std::vector<float> gradient(kElements), weights(kElements);
    AddScaled update(weights, 1);
    for (size_t i = kElements - 101; i < kElements; i += 2) gradient[i] = own;
    Status done = context.submit(0, gradient, update);
    if (done) done = context.wait(0);
    if (!done) return done.error().message;
    for (size_t i = 0; i < kElements; ++i) {
      const bool was_given =
          i + 101 >= kElements && (i + 101 - kElements) % 2 == 0;
      if (weights[i] != (was_given ? 8 : 0)) {
        return "element " + std::to_string(i) + " is wrong";
      }
    }
    return "";
  });
  check_all(wrong, "");
}

TEST_CASE("sums do not depend on the time of a layer's submission") {
  const std::vector<LayerOptions> layers = {
      {.name = "first", .elements = 100, .method = Method::kTwoPhase},
      {.name = "layer",
       .elements = 3000,
       .density = 0.05,
       .residual = GENERATE(ResidualKind::kFloat32, ResidualKind::kBfloat16),
       .method = Method::kTwoPhase}};
  std::vector<std::vector<float>> found;
  for (const int first : {0, 1}) {  // the layer in its turn, and before it
    std::vector<std::vector<float>> weights(2);
    const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
      const auto rank = size_t(transport->rank());
      Context context(std::move(transport), quick());
      if (std::string text = plan(context, layers); !text.empty()) return text;
      Model model(layers, unsigned(rank));
      for (int step = 0; step < 20; ++step) {
        for (auto& gradient : model.gradients) {
          for (float& value : gradient) value = float(model.random()) / 1e9f;
        }
        for (const int layer : {first, 1 - first}) {
          Status done = context.submit(layer, model.gradients[size_t(layer)],
                                       model.updates[size_t(layer)]);
          if (done && first == 0) done = context.wait(layer);
          if (!done) return done.error().message;
        }
        for (const int layer : {0, 1}) {
          const Status done = context.wait(layer);
          if (!done) return done.error().message;
        }
      }
      weights[rank] = model.weights[1];
      return "";
    });
    check_all(wrong, "");
    found.push_back(weights[0]);
  }
  CHECK(found[0] == found[1]);
}
