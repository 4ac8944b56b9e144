// Errors of a context, which are the same on every rank.
#include <atomic>
#include <cmath>
#include <limits>

#include "exchange/context/context.h"
#include "tests/unit/catch.h"
#include "tests/unit/exchange/context_ranks.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

const std::vector<LayerOptions> kLayers = {
    {.name = "a", .elements = 3000, .method = Method::kTwoPhase},
    {.name = "b", .elements = 10},
    {.name = "c", .elements = 2000, .method = Method::kAllgather}};

// Plans with each rank's layers and options after `change`; returns the errors.
using Change =
    std::function<void(int, std::vector<LayerOptions>&, ContextOptions&)>;
std::vector<std::string> planned(const Change& change) {
  return on_ranks(3, [&](auto transport) -> std::string {
    std::vector<LayerOptions> layers = kLayers;
    ContextOptions options = quick();
    change(transport->rank(), layers, options);
    Context context(std::move(transport), options);
    return plan(context, layers);
  });
}

void check_plan(const std::string& text, const Change& change) {
  CAPTURE(text);
  for (const std::string& found : planned(change)) {
    CAPTURE(found);
    CHECK(found.find(text) != std::string::npos);
  }
}

// Runs `work` with a planned context on each rank; returns the errors.
std::vector<std::string> exchanged(
    int ranks, const ContextOptions& options,
    const std::function<std::string(Context&, Model&)>& work) {
  return on_ranks(ranks, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    Context context(std::move(transport), options);
    if (std::string text = plan(context, kLayers); !text.empty()) return text;
    Model model(kLayers, rank);
    model.next_gradients();
    return work(context, model);
  });
}

std::string submit(Context& context, Model& model, int layer) {
  const auto submitted = context.submit(layer, model.gradients[size_t(layer)],
                                        model.updates[size_t(layer)]);
  return submitted ? "" : submitted.error().message;
}

std::string wait(Context& context, int layer) {
  const Status done = context.wait(layer);
  return done ? "" : done.error().message;
}

}  // namespace

TEST_CASE("an invalid density is refused on all ranks") {
  const double density =
      GENERATE(0.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN());
  check_plan("rank 1: layer c: a density of",
             [&](int rank, auto& layers, auto&) {
               if (rank == 1) layers[2].density = density;
             });
}

TEST_CASE("invalid layers are refused on all ranks") {
  check_plan("rank 2: layer a: it has no elements",
             [](int rank, auto& layers, auto&) {
               if (rank == 2) layers[0].elements = 0;
             });
  check_plan("rank 0: layer a: 4294967296 elements are more than 32 bits",
             [](int rank, auto& layers, auto&) {
               if (rank == 0) layers[0].elements = size_t{1} << 32;
             });
  check_plan("rank 0: no layer to exchange", [](int rank, auto& layers, auto&) {
    if (rank == 0) layers.clear();
  });
}

TEST_CASE("invalid options are refused on all ranks") {
  check_plan("rank 1: a keep factor of 0", [](int rank, auto&, auto& options) {
    if (rank == 1) options.keep_factor = 0;
  });
  check_plan("rank 1: a time-out of nan s", [](int rank, auto&, auto& options) {
    if (rank == 1) {
      options.timeout_s = std::numeric_limits<double>::quiet_NaN();
    }
  });
}

TEST_CASE("different layers or options are an error on all ranks") {
  check_plan("rank 2 has a number of layers of 2, rank 0 has 3",
             [](int rank, auto& layers, auto&) {
               if (rank == 2) layers.pop_back();
             });
  check_plan("layer 1 (b): rank 1 has a number of elements of 11",
             [](int rank, auto& layers, auto&) {
               if (rank == 1) layers[1].elements = 11;
             });
  check_plan("layer 0 (a): rank 2 has a density of 0.02, rank 0 has 0.01",
             [](int rank, auto& layers, auto&) {
               if (rank == 2) layers[0].density = 0.02;
             });
  check_plan("layer 0 (a): rank 1 has the name b, rank 0 has a",
             [](int rank, auto& layers, auto&) {
               if (rank == 1) std::swap(layers[0], layers[1]);
             });
  check_plan("layer 2 (c): rank 1 has the residual bfloat16, rank 0 has float",
             [](int rank, auto& layers, auto&) {
               if (rank == 1) layers[2].residual = ResidualKind::kBfloat16;
             });
  check_plan("layer 2 (c): rank 1 has the method by model, rank 0 has allgath",
             [](int rank, auto& layers, auto&) {
               if (rank == 1) layers[2].method.reset();
             });
  check_plan("rank 1 has buckets of 5, rank 0 has 100",
             [](int rank, auto&, auto& options) {
               if (rank == 1) options.bucket_elements = 5;
             });
}

TEST_CASE("rank 0's costs choose the method of all ranks") {
  const auto methods = on_ranks(2, [&](auto transport) -> std::string {
    ContextOptions options = quick();
    // By its own costs rank 1 would sum densely, because bytes are free.
    options.costs.byte_s = transport->rank() == 0 ? 1e-9 : 0;
    options.costs.select_s = 1e-10;
    Context context(std::move(transport), options);
    const std::vector<LayerOptions> layers = {{.name = "a", .elements = 1000}};
    if (std::string text = plan(context, layers); !text.empty()) return text;
    return context.layer_stats(0).method == Method::kDense ? "dense" : "sparse";
  });
  check_all(methods, "sparse");
}

TEST_CASE("a refusal by one rank fails the plan on all") {
  const auto found = on_ranks(3, [&](auto transport) -> std::string {
    const bool refuses = transport->rank() == 1;
    Context context(std::move(transport), quick());
    if (refuses) context.refuse("parameter w is of half precision");
    return plan(context, kLayers);
  });
  check_all(found, "rank 1: parameter w is of half precision");
}

TEST_CASE("a plan without one rank fails after the time-out") {
  std::atomic<int> left = 2;
  const auto found = on_ranks(3, [&](auto transport) -> std::string {
    if (transport->rank() == 2) {
      while (left > 0) std::this_thread::yield();
      return "";
    }
    ContextOptions options = quick();
    options.timeout_s = 0.1;
    Context context(std::move(transport), options);
    std::string text = plan(context, kLayers);
    --left;
    return text;
  });
  const std::string expected =
      "not all 3 ranks have planned their exchange within 0.1 s: has one of "
      "them ended?";
  CHECK(found == std::vector<std::string>{expected, expected, ""});
}

TEST_CASE("a late rank can answer an abandoned plan") {
  ThreadRanks ranks(2);
  ContextOptions options = quick();
  options.timeout_s = 0.05;
  Context early(ranks.transport(0), options), late(ranks.transport(1), options);
  CHECK(plan(early, kLayers).find("not all 2 ranks") == 0);
  // Completes the receive that the first context has started.
  CHECK(plan(late, kLayers).find("not all 2 ranks") == 0);
}

TEST_CASE("a rank that did not call for a while does not blame the others") {
  ContextOptions options = quick();
  options.timeout_s = 0.5;
  std::atomic<bool> is_submitted = false;
  const auto away = exchanged(2, options, [&](Context& context, Model& model) {
    // Makes rank 0 return before rank 1 has answered.
    const bool is_first = context.rank() == 1;
    while (!is_first && !is_submitted) std::this_thread::yield();
    std::string text = submit(context, model, 0);
    is_submitted = true;
    std::this_thread::sleep_for(
        std::chrono::milliseconds(is_first ? 1700 : 1500));
    return text.empty() ? wait(context, 0) : text;
  });
  check_all(away, "");
}

TEST_CASE("a rank that does not submit is named after the time-out") {
  const bool has_thread = GENERATE(false, true);
  ContextOptions options = quick(has_thread);
  options.timeout_s = 0.2;
  std::atomic<int> left = 2;
  const auto found = exchanged(3, options, [&](Context& context, Model& model) {
    if (context.rank() == 1) {
      while (left > 0) std::this_thread::yield();
      return std::string();
    }
    std::string text = submit(context, model, 0);
    if (text.empty()) text = wait(context, 0);
    --left;
    return text;
  });
  for (const size_t rank : {0u, 2u}) {
    CAPTURE(found[rank]);
    CHECK(found[rank].find("the exchange of layer a is not done after 0 s: "
                           "rank 1 has not answered") == 0);
  }
}

TEST_CASE("the failure of one rank fails all others at once") {
  const bool has_thread = GENERATE(false, true);
  const auto found =
      exchanged(3, quick(has_thread), [&](Context& context, Model& model) {
        if (context.rank() == 2) {
          model.gradients[0].resize(7);
          return submit(context, model, 0);
        }
        const std::string text = submit(context, model, 0);
        return text.empty() ? wait(context, 0) : text;
      });
  const std::string text =
      "a gradient of 7 elements was submitted for layer a, which has 3000";
  CHECK(found == std::vector<std::string>{"rank 2 has failed: " + text,
                                          "rank 2 has failed: " + text, text});
}

TEST_CASE("a rank that gives up fails all others with its reason") {
  const bool has_thread = GENERATE(false, true);
  const auto found =
      exchanged(3, quick(has_thread), [&](Context& context, Model& model) {
        if (context.rank() == 1) context.fail("no more samples");
        const std::string text = submit(context, model, 0);
        return text.empty() ? wait(context, 0) : text;
      });
  const std::string expected = "rank 1 has failed: no more samples";
  CHECK(found ==
        std::vector<std::string>{expected, "no more samples", expected});
}

TEST_CASE("a rank that ends during an exchange fails all others") {
  const auto found = exchanged(3, quick(), [&](Context& context, Model& model) {
    if (context.rank() == 0) {
      (void)submit(context, model, 1);  // of the bucket, not yet its turn
      return std::string();
    }
    const std::string text = submit(context, model, 0);
    return text.empty() ? wait(context, 0) : text;
  });
  const std::string expected =
      "rank 0 has failed: it has ended its exchange before it was done";
  CHECK(found == std::vector<std::string>{"", expected, expected});
}

TEST_CASE(
    "a non-finite gradient is refused on all ranks, or passed as configured") {
  const float bad = GENERATE(std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN());
  const bool passes = GENERATE(false, true);
  ContextOptions options = quick();
  options.passes_nonfinite = passes;
  const int layer = GENERATE(0, 1, 2);
  CAPTURE(layer, passes, bad);
  const auto found = exchanged(2, options, [&](Context& context, Model& model) {
    if (context.rank() == 1) model.gradients[size_t(layer)][5] = bad;
    for (const int one : {0, 1, 2}) {
      if (std::string text = submit(context, model, one); !text.empty()) {
        return text;
      }
    }
    for (const int one : {0, 1, 2}) {
      std::string text = wait(context, one);
      if (one != layer && !text.empty()) return "another layer: " + text;
      if (one == layer && text.empty() != passes) return "it says " + text;
    }
    const bool has_it = !std::isfinite(model.weights[size_t(layer)][5]);
    if (has_it != passes) return std::string("the weight has another value");
    // The context stays usable.
    model.next_gradients();
    for (const int one : {0, 1, 2}) (void)submit(context, model, one);
    return wait(context, layer);
  });
  check_all(found, "");
}

TEST_CASE("of layers in one bucket only the non-finite one is refused") {
  const std::vector<LayerOptions> layers = {
      {.name = "first", .elements = 10},
      {.name = "second", .elements = 20},
      {.name = "third", .elements = 30},
      {.name = "alone", .elements = 4000, .method = Method::kDense}};
  const size_t bad = GENERATE(0, 1, 2, 3);
  CAPTURE(bad);
  const auto found = on_ranks(3, [&](auto transport) -> std::string {
    ContextOptions options = quick();
    options.bucket_elements = 1000;
    Context context(std::move(transport), options);
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, unsigned(context.rank()));
    for (int step = 0; step < 3; ++step) {
      model.next_gradients();
      if (step == 1 && context.rank() == 2) {
        model.gradients[bad].back() = std::numeric_limits<float>::infinity();
      }
      for (int one = 0; one < 4; ++one) (void)submit(context, model, one);
      for (int one = 0; one < 4; ++one) {
        const std::string text = wait(context, one);
        const bool is_refused = step == 1 && size_t(one) == bad;
        if (text.empty() == is_refused) {
          return "step " + std::to_string(step) + ", " +
                 layers[size_t(one)].name + ": " + text;
        }
      }
    }
    return "";
  });
  check_all(found, "");
}

TEST_CASE("a call in the wrong state is an error that names the right state") {
  const auto found = exchanged(1, quick(), [&](Context& context, Model& model) {
    CHECK(wait(context, 0).empty());
    CHECK(wait(context, 3) == "there is no layer 3: 3 were added");
    CHECK(wait(context, -1) == "there is no layer -1: 3 were added");
    CHECK_FALSE(context.poll(3).ok());
    const Status again = context.plan();
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().message == "the exchange is planned already");
    const Status unknown =
        context.submit(9, model.gradients[0], model.updates[0]);
    return unknown ? std::string() : unknown.error().message;
  });
  check_all(found, "there is no layer 9: 3 were added");
  ThreadRanks ranks(1);
  Context context(ranks.transport(0), quick());
  AddScaled update;
  CHECK(context.submit(0, {}, update).error().message ==
        "plan() was not called");
  CHECK(context.wait(0).error().message == "plan() was not called");
  CHECK(context.poll(0).error().message == "plan() was not called");
}

TEST_CASE(
    "a wait for a layer behind an unsubmitted one is an error with the cause") {
  const bool has_thread = GENERATE(false, true);
  const auto found =
      exchanged(2, quick(has_thread), [&](Context& context, Model& model) {
        if (std::string text = submit(context, model, 2); !text.empty()) {
          return text;
        }
        return wait(context, 2);
      });
  bool has_cause = false;
  for (const std::string& text : found) {
    CAPTURE(text);
    CHECK(text.find("layer c waits for layer a, which was not submitted") !=
          std::string::npos);
    has_cause = has_cause || text.find("layer c") == 0;
  }
  CHECK(has_cause);
}

TEST_CASE("a second submit before the first one is done is refused") {
  const auto found = exchanged(2, quick(), [&](Context& context, Model& model) {
    const std::string text = submit(context, model, 1);  // after layer a
    return text.empty() ? submit(context, model, 1) : text;
  });
  for (const std::string& text : found) {
    CAPTURE(text);
    CHECK(text.find("layer b was submitted before its last exchange was done: "
                    "wait for it") != std::string::npos);
  }
}
