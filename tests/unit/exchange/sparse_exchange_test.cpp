#include "exchange/sparse/sparse_exchange.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <random>

#include "exchange/sparse/to_everybody.h"
#include "exchange/sparse/two_phase.h"
#include "tests/unit/catch.h"
#include "tests/unit/exchange/rank_threads.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

constexpr size_t kMemory = 1 << 20;

enum class Way { kTwoPhase, kToEverybody };

std::unique_ptr<SparseExchange> make(Way way, Transport& transport,
                                     Arena& arena, const SparseShape& shape) {
  const std::vector<SparseShape> layers = {shape};
  if (way == Way::kTwoPhase) {
    return std::make_unique<TwoPhase>(transport, arena, layers);
  }
  return std::make_unique<ToEverybody>(transport, arena, layers);
}

// Each rank's thread calls this; Catch's macros are not thread-safe.
Arena memory() {
  Result<Arena> arena = Arena::of(kMemory);
  if (!arena) throw std::bad_alloc();
  return std::move(*arena);
}

// A layer of whole-numbered gradients, whose sums are exact in any order, and
// the results of all ranks.
struct Layer {
  Way way = Way::kTwoPhase;
  bool is_narrow = false;  // its residual
  SparseShape shape;
  int ranks = 1;
  float threshold = 5;
  int steps = 4;
  unsigned seed = 1;
  float most = 10;  // of a gradient's numbers

  std::vector<double> given, left;           // of all ranks together
  std::vector<std::vector<double>> applied;  // by each
  size_t most_in_part = 0;
  std::vector<std::string> errors;
};

// Runs an exchange to its end; returns the error, or "".
std::string run(SparseExchange& exchange, const SparseExchange::Input& input) {
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

// Adds the last exchange's sums.
void apply(const SparseExchange& exchange, int ranks,
           std::vector<double>& applied) {
  for (int rank = 0; rank < ranks; ++rank) {
    const SparseView part = exchange.part(rank);
    for (size_t i = 0; i < part.indices.size(); ++i) {
      applied[part.indices[i]] += part.values[i];
    }
  }
}

void run_rank(Layer& layer, Transport& transport, std::mutex& mutex) {
  const auto rank = size_t(transport.rank());
  Arena arena = memory();
  const auto exchange = make(layer.way, transport, arena, layer.shape);
  Residual residual = layer.is_narrow
                          ? Residual::bfloat16(layer.shape.elements, arena)
                          : Residual::float32(layer.shape.elements, arena);
  std::vector<double> given(layer.shape.elements), applied(given);
  std::string wrong;
  size_t most_in_part = 0;
  for (int step = 0; step < layer.steps && wrong.empty(); ++step) {
    const std::vector<float> gradient =
        gradient_of(layer, transport.rank(), step);
    for (size_t i = 0; i < given.size(); ++i) given[i] += gradient[i];
    wrong = run(*exchange, {.shape = layer.shape,
                            .step = uint32_t(step),
                            .threshold = layer.threshold,
                            .gradient = gradient,
                            .residual = &residual});
    apply(*exchange, transport.size(), applied);
    for (int one = 0; one < transport.size(); ++one) {
      most_in_part = std::max(most_in_part, exchange->part(one).indices.size());
    }
  }
  std::vector<float> left(layer.shape.elements);
  residual.read(left);
  const std::lock_guard lock(mutex);
  layer.errors[rank] = wrong;
  layer.applied[rank] = applied;
  layer.most_in_part = std::max(layer.most_in_part, most_in_part);
  for (size_t i = 0; i < given.size(); ++i) {
    layer.given[i] += given[i];
    layer.left[i] += left[i];
  }
}

void run_all(Layer& layer) {
  layer.given.assign(layer.shape.elements, 0);
  layer.left = layer.given;
  layer.applied.resize(size_t(layer.ranks));
  layer.errors.resize(size_t(layer.ranks));
  std::mutex mutex;
  as_ranks(layer.ranks,
           [&](Transport& transport) { run_rank(layer, transport, mutex); });
}

void check_nothing_is_lost(const Layer& layer) {
  for (const std::string& error : layer.errors) CHECK(error.empty());
  for (size_t i = 0; i < layer.given.size(); ++i) {
    if (layer.given[i] == layer.applied[0][i] + layer.left[i]) continue;
    FAIL("element " << i << ": given " << layer.given[i] << ", applied "
                    << layer.applied[0][i] << ", left " << layer.left[i]);
  }
}

void check_all_are_alike(const Layer& layer) {
  for (const auto& applied : layer.applied) CHECK(applied == layer.applied[0]);
}

}  // namespace

TEST_CASE("applied and residual values add up to the input, bit for bit") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (int run = 0; run < 40; ++run) {
      Layer layer;
      layer.way = run % 2 == 0 ? Way::kTwoPhase : Way::kToEverybody;
      layer.is_narrow = run % 4 >= 2;  // these whole numbers fit
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
      CHECK(layer.most_in_part <= (layer.way == Way::kTwoPhase
                                       ? layer.shape.keep_entries
                                       : layer.shape.send_entries));
    }
  }
}

TEST_CASE(
    "in every eighth step a full message has its region's largest elements") {
  // Each region has elements of 1 to 32; those from 8 on are large, and 4 fit.
  // With messages for this few sums not all large ones are examined.
  const uint32_t step = GENERATE(8, 9);
  const size_t sums = GENERATE(4, 32);
  const bool is_narrow = GENERATE(false, true);
  const uint32_t first = step == 8 && sums == 32 ? 28 : 7;
  CAPTURE(step, sums, is_narrow);
  std::mutex mutex;
  as_ranks(2, [&](Transport& transport) {
    const SparseShape shape{64, 4, sums};
    Arena arena = memory();
    TwoPhase exchange(transport, arena, {shape});
    Residual residual = is_narrow ? Residual::bfloat16(64, arena)
                                  : Residual::float32(64, arena);
    std::vector<float> gradient(64), left(64);
    for (size_t i = 0; i < 64; ++i) gradient[i] = float(i % 32 + 1);
    const std::string wrong =
        run(exchange, {shape, 0, step, 8, gradient, &residual});
    residual.read(left);
    const std::lock_guard lock(mutex);
    CHECK(wrong.empty());
    for (uint32_t region = 0; region < 64; region += 32) {
      const SparseView part = exchange.part(int(region / 32));
      CHECK(part.indices.size() == 4);
      for (uint32_t i = 0; i < part.indices.size(); ++i) {
        CHECK(part.indices[i] == region + first + i);
        CHECK(part.values[i] == 2 * gradient[region + first + i]);
        gradient[region + first + i] = 0;
      }
    }
    CHECK(left == gradient);
  });
}

TEST_CASE("with enough room the result is the exact sum") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const Way way : {Way::kTwoPhase, Way::kToEverybody}) {
      Layer layer;
      layer.way = way;
      layer.ranks = ranks;
      layer.steps = 1;
      layer.threshold = std::numeric_limits<float>::denorm_min();
      layer.shape = {333, 333, 333};
      run_all(layer);
      check_nothing_is_lost(layer);
      for (const double left : layer.left) CHECK(left == 0);
    }
  }
}

TEST_CASE(
    "fewer elements than ranks, or none above the threshold, lose no value") {
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
  for (const double applied : layer.applied[0]) CHECK(applied == 0);
}

TEST_CASE("NaN on one rank is reported on all ranks") {
  const Way way = GENERATE(Way::kTwoPhase, Way::kToEverybody);
  for (const int bad_rank : {0, 2}) {
    std::atomic<int> told = 0;
    as_ranks(3, [&](Transport& transport) {
      const SparseShape shape{100, 20, 20};
      Arena arena = memory();
      const auto exchange = make(way, transport, arena, shape);
      Residual residual = Residual::float32(100, arena);
      std::vector<float> gradient(100, 1);
      if (transport.rank() == bad_rank) gradient[77] = std::nanf("");
      const std::string wrong =
          run(*exchange, {shape, 0, 0, 2, gradient, &residual});
      told += wrong.empty() && !exchange->is_finite() ? 1 : 0;
    });
    CHECK(told == 3);
  }
}

TEST_CASE("ranks in different layers get an error") {
  const Way way = GENERATE(Way::kTwoPhase, Way::kToEverybody);
  std::mutex mutex;
  std::vector<std::string> errors;
  as_ranks(3, [&](Transport& transport) {
    const SparseShape shape{100, 20, 20};
    Arena arena = memory();
    const auto exchange = make(way, transport, arena, shape);
    Residual residual = Residual::float32(100, arena);
    const std::vector<float> gradient(100, 1);
    const uint32_t layer = transport.rank() == 1 ? 7 : 4;
    const std::string wrong =
        run(*exchange, {shape, layer, 9, 0.5f, gradient, &residual});
    const std::lock_guard lock(mutex);
    errors.push_back(wrong);
  });
  for (const std::string& error : errors) {
    CAPTURE(error);
    CHECK(error.find("all ranks must submit the same layers") !=
          std::string::npos);
  }
}
