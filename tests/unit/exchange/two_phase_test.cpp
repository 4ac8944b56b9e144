#include "exchange/sparse/two_phase.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>

#include "tests/unit/catch.h"
#include "tests/unit/exchange/rank_threads.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

// A layer of whole-numbered gradients, whose sums are exact in any order, and
// what all ranks did with it.
struct Layer {
  TwoPhaseShape shape;
  int ranks = 1;
  float threshold = 5;
  int steps = 4;
  unsigned seed = 1;
  float most = 10;  // of a gradient's numbers

  std::vector<double> given, applied, left;
  std::vector<std::vector<uint32_t>> indices;  // of the ranks' last step
  std::vector<std::vector<float>> values;
  size_t most_sums = 0;
  std::vector<std::string> errors;
};

// Runs an exchange to its end; "" or what went wrong.
std::string run(TwoPhase& exchange, const TwoPhase::Input& input) {
  const auto begun = exchange.begin(input);
  if (!begun) return begun.error().message;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    const Result<bool> done = exchange.advance();
    if (!done) return done.error().message;
    if (*done) return "";
    std::this_thread::yield();
  }
  return "not done in 10 s";
}

std::vector<float> gradient_of(const Layer& layer, int rank, int step) {
  std::mt19937 random(layer.seed * 1000 + unsigned(rank * 100 + step));
  std::vector<float> gradient(layer.shape.elements);
  const auto most = uint32_t(layer.most);
  for (float& one : gradient) {
    one = float(int(random() % (2 * most + 1)) - int(most));
  }
  return gradient;
}

void run_rank(Layer& layer, Transport& transport, std::mutex& mutex) {
  const auto rank = size_t(transport.rank());
  TwoPhase exchange(transport, {layer.shape});
  std::vector<float> residual(layer.shape.elements);
  std::vector<double> given(layer.shape.elements), applied(given);
  std::string wrong;
  size_t most_sums = 0;
  for (int step = 0; step < layer.steps && wrong.empty(); ++step) {
    const std::vector<float> gradient =
        gradient_of(layer, transport.rank(), step);
    for (size_t i = 0; i < given.size(); ++i) given[i] += gradient[i];
    wrong = run(exchange, {.shape = layer.shape,
                           .step = uint32_t(step),
                           .threshold = layer.threshold,
                           .gradient = gradient,
                           .residual = residual});
    const SparseView sums = exchange.sums();
    most_sums = std::max(most_sums, sums.indices.size());
    for (size_t i = 0; i < sums.indices.size(); ++i) {
      applied[sums.indices[i]] += sums.values[i];
    }
  }
  const SparseView sums = exchange.sums();
  const std::lock_guard lock(mutex);
  layer.errors[rank] = wrong;
  layer.indices[rank].assign(sums.indices.begin(), sums.indices.end());
  layer.values[rank].assign(sums.values.begin(), sums.values.end());
  layer.most_sums = most_sums;
  if (rank == 0) layer.applied = applied;
  for (size_t i = 0; i < given.size(); ++i) {
    layer.given[i] += given[i];
    layer.left[i] += residual[i];
  }
}

void run_all(Layer& layer) {
  layer.given.assign(layer.shape.elements, 0);
  layer.left = layer.given;
  layer.indices.resize(size_t(layer.ranks));
  layer.values.resize(size_t(layer.ranks));
  layer.errors.resize(size_t(layer.ranks));
  std::mutex mutex;
  as_ranks(layer.ranks,
           [&](Transport& transport) { run_rank(layer, transport, mutex); });
}

void check_nothing_is_lost(const Layer& layer) {
  for (const std::string& error : layer.errors) CHECK(error.empty());
  for (size_t i = 0; i < layer.given.size(); ++i) {
    if (layer.given[i] == layer.applied[i] + layer.left[i]) continue;
    FAIL("element " << i << ": given " << layer.given[i] << ", applied "
                    << layer.applied[i] << ", left " << layer.left[i]);
  }
}

void check_all_are_alike(const Layer& layer) {
  for (size_t rank = 1; rank < layer.indices.size(); ++rank) {
    CHECK(layer.indices[rank] == layer.indices[0]);
    CHECK(layer.values[rank] == layer.values[0]);
  }
}

}  // namespace

TEST_CASE("what was given is what was applied and what is left, bit for bit") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (int run = 0; run < 20; ++run) {
      Layer layer;
      layer.ranks = ranks;
      layer.seed = random() % 1000;
      layer.shape.elements = 1 + random() % 700;
      layer.shape.send_entries = random() % 200;  // full, and not
      layer.shape.keep_entries = random() % 200;
      layer.threshold = float(1 + random() % 11);
      CAPTURE(ranks, run, layer.shape.elements, layer.shape.send_entries,
              layer.shape.keep_entries, layer.threshold);
      run_all(layer);
      check_nothing_is_lost(layer);
      check_all_are_alike(layer);
      CHECK(layer.most_sums <= layer.shape.keep_entries * size_t(ranks));
    }
  }
}

TEST_CASE("with room for all it is the sum of all") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    Layer layer;
    layer.ranks = ranks;
    layer.steps = 1;
    layer.threshold = std::numeric_limits<float>::denorm_min();
    layer.shape = {333, 333, 333};
    run_all(layer);
    check_nothing_is_lost(layer);
    for (const double left : layer.left) CHECK(left == 0);
  }
}

TEST_CASE("fewer elements than ranks, and none that is large enough") {
  Layer layer;
  layer.ranks = 8;
  layer.shape = {3, 1, 1};
  run_all(layer);
  check_nothing_is_lost(layer);
  layer = {};
  layer.ranks = 3;
  layer.shape = {100, 10, 10};
  layer.threshold = 1000;
  run_all(layer);
  check_nothing_is_lost(layer);
  CHECK(layer.indices[0].empty());
}

TEST_CASE("an infinity or no number on one rank is told to all") {
  for (const int bad_rank : {0, 2}) {
    std::atomic<int> told = 0;
    as_ranks(3, [&](Transport& transport) {
      const TwoPhaseShape shape{100, 20, 20};
      TwoPhase exchange(transport, {shape});
      std::vector<float> gradient(100, 1), residual(100);
      if (transport.rank() == bad_rank) gradient[77] = std::nanf("");
      const std::string wrong =
          run(exchange, {shape, 0, 0, 2, gradient, residual});
      told += wrong.empty() && !exchange.is_finite() ? 1 : 0;
    });
    CHECK(told == 3);
  }
}

TEST_CASE("ranks that have lost each other are told") {
  std::mutex mutex;
  std::vector<std::string> errors;
  as_ranks(3, [&](Transport& transport) {
    const TwoPhaseShape shape{100, 20, 20};
    TwoPhase exchange(transport, {shape});
    std::vector<float> gradient(100, 1), residual(100);
    const uint32_t layer = transport.rank() == 1 ? 7 : 4;
    const std::string wrong =
        run(exchange, {shape, layer, 9, 0.5f, gradient, residual});
    const std::lock_guard lock(mutex);
    errors.push_back(wrong);
  });
  for (const std::string& error : errors) {
    CAPTURE(error);
    CHECK(error.find("all ranks must submit the same layers") !=
          std::string::npos);
  }
}
