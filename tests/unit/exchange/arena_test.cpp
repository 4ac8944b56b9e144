#include "exchange/memory/arena.h"

#include <algorithm>
#include <cstdint>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::exchange;

namespace {

void take_all(Arena& arena, std::span<char>& bytes,
              std::span<double>& doubles) {
  bytes = arena.take<char>(3);
  doubles = arena.take<double>(100);
}

}  // namespace

TEST_CASE("a measuring arena reports the size that a real one needs") {
  std::span<char> bytes;
  std::span<double> doubles;
  Arena plan;
  take_all(plan, bytes, doubles);
  CHECK(bytes.empty());
  CHECK(plan.used() == 64 + 832);
  Result<Arena> arena = Arena::of(plan.used());
  REQUIRE(arena.ok());
  take_all(*arena, bytes, doubles);
  CHECK(arena->used() == arena->capacity());
  CHECK(bytes.size() == 3);
  REQUIRE(doubles.size() == 100);
  CHECK(reinterpret_cast<uintptr_t>(doubles.data()) % 64 == 0);
  CHECK(std::all_of(doubles.begin(), doubles.end(),
                    [](double value) { return value == 0; }));
}

TEST_CASE("a size without memory is an error") {
  const Result<Arena> arena = Arena::of(size_t{1} << 62);
  REQUIRE_FALSE(arena.ok());
  CHECK(arena.error().code == Code::kLimit);
  CHECK(arena.error().message.find(
            "no memory for an arena of 46116860184273") == 0);
}

TEST_CASE("memory moves with its arena, and may outlive it") {
  std::span<int> values;
  {
    Result<Arena> made = Arena::of(4096);
    REQUIRE(made.ok());
    Arena arena = std::move(*made);
    values = arena.take<int>(1000);
    arena.abandon();
  }
  values[999] = 7;
  CHECK(values[999] == 7);
}
