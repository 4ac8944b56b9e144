// Contexts of ranks that are threads, and a model for each.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "exchange/context/context.h"
#include "exchange/transport/thread_ranks.h"
#include "tests/unit/catch.h"

namespace penstock::exchange::test {

using RankWork = std::function<std::string(std::unique_ptr<Transport>)>;

// Each rank's error, or "".
inline std::vector<std::string> on_ranks(int ranks, const RankWork& work) {
  ThreadRanks group(ranks);
  std::vector<std::string> wrong(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(
        [&, rank] { wrong[size_t(rank)] = work(group.transport(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

inline void check_all(const std::vector<std::string>& found,
                      const std::string& expected) {
  for (const std::string& one : found) CHECK(one == expected);
}

// A rank's model: gradients of small whole numbers, which are exact in any
// order and also in bfloat16, and weights that they are added to.
struct Model {
  explicit Model(const std::vector<LayerOptions>& layers, unsigned seed)
      : random(seed) {
    for (const LayerOptions& layer : layers) {
      gradients.emplace_back(layer.elements);
      weights.emplace_back(layer.elements);
      given.emplace_back(layer.elements);
      updates.emplace_back(weights.back(), 1.0f);
    }
  }
  void next_gradients() {
    for (size_t layer = 0; layer < gradients.size(); ++layer) {
      for (size_t i = 0; i < gradients[layer].size(); ++i) {
        // Few large ones, as gradients have.
        const auto bits = random();
        const float value = bits % 32 == 0 ? float(bits / 32 % 7) - 3 : 0;
        gradients[layer][i] = value;
        given[layer][i] += value;
      }
    }
  }
  std::mt19937 random;
  std::vector<std::vector<float>> gradients, weights, given;
  std::vector<AddScaled> updates;
};

using MakeGradients = std::function<void(Model&)>;

inline std::string train(Context& context, Model& model, int steps,
                         const MakeGradients& make = &Model::next_gradients) {
  for (int step = 0; step < steps; ++step) {
    make(model);
    for (size_t layer = 0; layer < model.gradients.size(); ++layer) {
      const Status submitted = context.submit(
          int(layer), model.gradients[layer], model.updates[layer]);
      if (!submitted) return submitted.error().message;
    }
    for (size_t layer = 0; layer < model.gradients.size(); ++layer) {
      const Status done = context.wait(int(layer));
      if (!done) return done.error().message;
    }
  }
  return "";
}

inline std::string plan(Context& context,
                        const std::vector<LayerOptions>& layers) {
  for (const LayerOptions& layer : layers) context.add_layer(layer);
  const Status planned = context.plan();
  return planned ? "" : planned.error().message;
}

inline ContextOptions quick(bool has_thread = false) {
  return {.bucket_elements = 100,
          .exact_steps = 8,
          .timeout_s = 30,
          .has_thread = has_thread};
}

}  // namespace penstock::exchange::test
