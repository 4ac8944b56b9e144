#include "loader/lmdb/mpi/batch_plan.h"

#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

namespace {

// Checks that every position comes once, in order of steps and ranks.
void check_covers(const BatchPlan& plan) {
  uint64_t next = 0;
  for (uint64_t step = 0; step < plan.steps(); ++step) {
    for (uint32_t rank = 0; rank < plan.ranks; ++rank) {
      const Positions mine = plan.of_ranks(step, {rank, 1});
      REQUIRE(mine.first == next);
      REQUIRE(mine.last >= mine.first);
      REQUIRE(mine.count() <= plan.batch_records);
      next = mine.last;
    }
  }
  REQUIRE(next == plan.records);
}

}  // namespace

TEST_CASE("ranks get all positions, in order") {
  for (const uint32_t ranks : {1, 2, 3, 16}) {
    for (const uint64_t records : {0, 1, 7, 96, 97, 1000}) {
      check_covers({records, ranks, 4, 1});
    }
  }
}

TEST_CASE("a short step is divided evenly") {
  const BatchPlan plan{10, 4, 2, 1};
  REQUIRE(plan.steps() == 2);
  std::vector<uint64_t> counts;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    counts.push_back(plan.of_ranks(1, {rank, 1}).count());
  }
  CHECK(counts == std::vector<uint64_t>{0, 1, 0, 1});
}

TEST_CASE("a node's ranks have one contiguous part of each step") {
  const BatchPlan plan{100, 6, 3, 1};
  for (uint64_t step = 0; step < plan.steps(); ++step) {
    const Positions node = plan.of_ranks(step, {2, 3});
    CHECK(node.first == plan.of_ranks(step, {2, 1}).first);
    CHECK(node.last == plan.of_ranks(step, {4, 1}).last);
  }
}

TEST_CASE("chunks end with their epoch") {
  const BatchPlan plan{100, 2, 5, 4};  // 10 steps: chunks of 4, 4, 2
  REQUIRE(plan.chunks() == 3);
  CHECK(plan.chunk(2).first_step == 8);
  CHECK(plan.chunk(2).last_step == 10);
  CHECK(plan.chunk(3).epoch == 1);
  CHECK(plan.chunk(3).first_step == 0);
  CHECK(plan.chunk_of(1, 9) == 5);
}

TEST_CASE("places in a chunk have no gaps") {
  const BatchPlan plan{103, 6, 3, 4};
  const NodeRanks node{3, 3};
  for (uint64_t number = 0; number < plan.chunks(); ++number) {
    const StepChunk chunk = plan.chunk(number);
    uint64_t next = 0;
    for (uint64_t step = chunk.first_step; step < chunk.last_step; ++step) {
      for (uint32_t rank = 3; rank < 6; ++rank) {
        REQUIRE(plan.place_in_chunk(step, node, rank) == next);
        next += plan.of_ranks(step, {rank, 1}).count();
      }
    }
  }
}

TEST_CASE("a run has the chunks of its epochs, for any number of epochs") {
  const BatchPlan plan{100, 2, 5, 4};
  CHECK(plan.chunks_of_run(7) == 21);
  CHECK(plan.chunks_of_run(0) > uint64_t{1} << 63);
  CHECK(plan.chunks_of_run(UINT64_MAX / 2) == plan.chunks_of_run(0));
  CHECK((BatchPlan{0, 2, 5, 4}.chunks_of_run(7)) == 0);
  CHECK((BatchPlan{0, 2, 5, 4}.chunks_of_run(0)) == 0);
}
