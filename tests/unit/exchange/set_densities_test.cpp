// Densities that change between two steps.
#include <limits>
#include <numeric>

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
    {.name = "c", .elements = 2000, .method = Method::kAllgather},
    {.name = "d",
     .elements = 2000,
     .residual = ResidualKind::kBfloat16,
     .method = Method::kTwoPhase},
    {.name = "e", .elements = 2000, .residual = ResidualKind::kHost}};

std::string set(Context& context, std::vector<double> densities) {
  const Status done = context.set_densities(densities);
  return done ? "" : done.error().message;
}

std::string set_all(Context& context, double density) {
  return set(context, std::vector<double>(kLayers.size(), density));
}

// Given gradients, applied sums, and residuals.
struct Sums {
  std::vector<std::vector<float>> given, residual, weights;
};

Sums sums_of(Context& context, const Model& model) {
  Sums sums{model.given, model.given, model.weights};
  for (size_t layer = 0; layer < kLayers.size(); ++layer) {
    sums.residual[layer] = context.layer_state(int(layer))->residual;
    sums.residual[layer].resize(kLayers[layer].elements);
  }
  return sums;
}

void check_conserved(const std::vector<Sums>& ranks) {
  for (size_t layer = 0; layer < kLayers.size(); ++layer) {
    CAPTURE(layer);
    std::vector<float> kept(kLayers[layer].elements), given = kept;
    for (const Sums& rank : ranks) {
      CHECK(rank.weights[layer] == ranks[0].weights[layer]);
      for (size_t i = 0; i < kept.size(); ++i) {
        kept[i] += rank.residual[layer][i];
        given[i] += rank.given[layer][i];
      }
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      kept[i] += ranks[0].weights[layer][i];
    }
    CHECK(kept == given);
  }
}

}  // namespace

TEST_CASE("no value is lost when densities change") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const bool has_thread = GENERATE(false, true);
  CAPTURE(ranks, has_thread);
  std::vector<Sums> sums(static_cast<size_t>(ranks));
  const auto wrong = on_ranks(ranks, [&](auto transport) -> std::string {
    const auto rank = size_t(transport->rank());
    Context context(std::move(transport), quick(has_thread));
    if (std::string text = plan(context, kLayers); !text.empty()) return text;
    Model model(kLayers, unsigned(rank));
    for (const double density : {0.5, 0.1, 0.01, 0.2}) {
      std::string text = set_all(context, density);
      if (text.empty()) text = train(context, model, 20);
      if (!text.empty()) return text;
    }
    sums[rank] = sums_of(context, model);
    return "";
  });
  check_all(wrong, "");
  check_conserved(sums);
}

TEST_CASE("a step exchanges the share of the new density") {
  std::vector<LayerStats> stats(2);
  std::vector<ContextStats> memory(2);
  const auto wrong = on_ranks(2, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), quick());
    if (std::string text = plan(context, kLayers); !text.empty()) return text;
    Model model(kLayers, unsigned(rank));
    std::string text = set_all(context, 0.5);
    if (text.empty()) text = train(context, model, 10);
    if (text.empty()) text = set_all(context, 0.01);
    if (text.empty()) text = train(context, model, 1);
    stats[size_t(rank)] = context.layer_stats(0);
    memory[size_t(rank)] = context.stats();
    return text;
  });
  check_all(wrong, "");
  for (const LayerStats& one : stats) {
    CHECK(one.steps == 11);
    CHECK(one.taken > 0);
    CHECK(one.taken <= 60);  // of 3000; ties may be picked out as well
  }
  for (const ContextStats& one : memory) {
    CHECK(one.used_bytes == one.planned_bytes);
  }
}

TEST_CASE("invalid or different densities change nothing on any rank") {
  const auto row = GENERATE(table<std::string, double>(
      {{"rank 1: layer a: a density of nan is not above 0 and at most 1",
        std::numeric_limits<double>::quiet_NaN()},
       {"rank 1: layer a: a density of 0 is not above 0 and at most 1", 0.0},
       {"rank 1: layer a: a density of 2 is not above 0 and at most 1", 2.0},
       {"layer 0 (a): rank 1 has a density of 0.2, rank 0 has 0.1: all ranks "
        "must add the same layers in the same order, with the same options",
        0.2}}));
  const std::string text = std::get<0>(row);
  const double wanted = std::get<1>(row);
  const auto found = on_ranks(3, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), quick());
    if (std::string bad = plan(context, kLayers); !bad.empty()) return bad;
    Model model(kLayers, unsigned(rank));
    std::string said = set_all(context, rank == 1 ? wanted : 0.1);
    std::string after = train(context, model, 5);
    return after.empty() ? said : after;
  });
  check_all(found, text);
}

TEST_CASE("a wrong number of densities is refused") {
  const auto found = on_ranks(2, [&](auto transport) -> std::string {
    Context context(std::move(transport), quick());
    if (std::string bad = plan(context, kLayers); !bad.empty()) return bad;
    return set(context, {0.1});
  });
  check_all(found, "rank 0: there are 5 layers, and 1 densities");
}

TEST_CASE("densities cannot be set during a step") {
  const auto found = on_ranks(2, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), quick());
    if (std::string bad = plan(context, kLayers); !bad.empty()) return bad;
    Model model(kLayers, unsigned(rank));
    model.next_gradients();
    const Status submitted =
        context.submit(0, model.gradients[0], model.updates[0]);
    return submitted ? set_all(context, 0.1) : submitted.error().message;
  });
  check_all(found,
            "rank 0: densities are set between two steps: some layers have "
            "been submitted in this one, and others not");
}

TEST_CASE("a change to density 1 that would lose a residual is refused") {
  const std::vector<LayerOptions> layers = {{.name = "a", .elements = 3000}};
  ContextOptions options = quick();
  options.costs = {
      .byte_s = 1, .add_s = 1e-9, .select_s = 0.5, .record_s = 1e-9};
  const auto found = on_ranks(2, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), options);
    if (std::string bad = plan(context, layers); !bad.empty()) return bad;
    if (context.layer_stats(0).method == Method::kDense) return "dense";
    Model model(layers, unsigned(rank));
    std::string text = train(context, model, 3);
    if (text.empty()) text = set(context, {1.0});
    if (context.layer_stats(0).method == Method::kDense) return "dense now";
    const std::string after = train(context, model, 3);
    return after.empty() ? text : after;
  });
  check_all(found,
            "layer a: with a density of 1 it would be summed densely, and what "
            "it has not given away yet would be lost; name a sparse method");
}

TEST_CASE("a failed rank fails set_densities() at once") {
  const auto found = on_ranks(2, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), quick());
    if (std::string bad = plan(context, kLayers); !bad.empty()) return bad;
    if (rank == 1) context.fail("no data");
    return set_all(context, 0.1);
  });
  CHECK(found[0] == "rank 1 has failed: no data");
  CHECK(found[1] == "no data");
}

TEST_CASE("a missing rank fails set_densities() after the time-out") {
  ContextOptions options = quick();
  options.timeout_s = 0.5;
  const auto found = on_ranks(2, [&](auto transport) -> std::string {
    const int rank = transport->rank();
    Context context(std::move(transport), options);
    if (std::string bad = plan(context, kLayers); !bad.empty()) return bad;
    if (rank == 1) return "";
    std::string text = set_all(context, 0.1);
    // The context is unusable afterwards.
    return set_all(context, 0.1) == text ? text : "another error";
  });
  CHECK(found[0].find("not all 2 ranks have planned their exchange within "
                      "0.5 s") == 0);
}
