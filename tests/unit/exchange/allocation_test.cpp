// No rank allocates memory between plan() and its end.
#include <atomic>
#include <cstdlib>
#include <new>

#include "exchange/context/context.h"
#include "tests/unit/catch.h"
#include "tests/unit/exchange/context_ranks.h"

namespace {

std::atomic<bool> g_is_counted = false;
std::atomic<size_t> g_allocations = 0;

}  // namespace

// Not inlined: the compiler would take malloc() and operator delete for a
// mismatch.
[[gnu::noinline]] void* operator new(size_t bytes,
                                     const std::nothrow_t&) noexcept {
  if (g_is_counted) ++g_allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

TEST_CASE("no memory is allocated after plan()") {
  constexpr int kRanks = 3, kSteps = 20;
  const bool has_thread = GENERATE(false, true);
  const std::vector<LayerOptions> layers = {
      {.name = "a", .elements = 3000, .method = Method::kTwoPhase},
      {.name = "bias", .elements = 7},
      {.name = "b", .elements = 2000, .method = Method::kAllgather},
      {.name = "c", .elements = 1000, .method = Method::kDense},
      {.name = "d",
       .elements = 900,
       .density = 0.1,
       .residual = ResidualKind::kBfloat16,
       .method = Method::kTwoPhase}};
  std::atomic<int> ready = 0, done = 0;
  const auto wrong = on_ranks(kRanks, [&](auto transport) -> std::string {
    const auto rank = unsigned(transport->rank());
    Context context(std::move(transport), quick(has_thread));
    if (std::string text = plan(context, layers); !text.empty()) return text;
    Model model(layers, rank);
    ++ready;
    while (ready < kRanks) std::this_thread::yield();
    g_is_counted = true;
    std::string text = train(context, model, kSteps);
    ++done;
    while (done < kRanks) std::this_thread::yield();
    g_is_counted = false;
    return text;
  });
  check_all(wrong, "");
  CHECK(g_allocations == 0);
}

TEST_CASE("the counter counts allocations") {
  g_allocations = 0;
  g_is_counted = true;
  const auto one = std::make_unique<int>(1);
  g_is_counted = false;
  CHECK(g_allocations == 1);
}
