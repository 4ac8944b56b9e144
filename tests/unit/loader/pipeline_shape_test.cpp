#include "loader/pipeline/pipeline_shape.h"

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

// Batches of 10 samples of 1000 bytes each.
constexpr uint64_t kFloats = (1000 - 17) / 4;
constexpr uint64_t kBatchBytes = 10 * (kFloats * 4 + 17);
constexpr uint64_t kMiB = 1 << 20;

Result<PipelineShape> shape_of(uint64_t memory_bytes, size_t threads) {
  PipelineOptions options;
  options.batch_samples = 10;
  options.threads_max = threads;
  options.memory_bytes = memory_bytes;
  return pipeline_shape(options, kFloats, {10});
}

}  // namespace

TEST_CASE(
    "without a memory bound the ring has as many batches as the threads need") {
  auto few = shape_of(0, 1);
  REQUIRE(few);
  CHECK(few->ring.batches == 4);
  CHECK(few->thread_bytes == UINT64_MAX);
  auto many = shape_of(0, 100);
  REQUIRE(many);
  CHECK(many->ring.batches == 20);
}

TEST_CASE("ring and threads stay within the memory bound") {
  for (const size_t threads : {1, 7, 64}) {
    const uint64_t least = 2 * kBatchBytes + threads * kMiB;
    for (const uint64_t more : {0ul, 1000ul, 50000ul, 1000000ul, 100000000ul}) {
      CAPTURE(threads, more);
      auto shape = shape_of(least + more, threads);
      REQUIRE(shape);
      CHECK(shape->ring.batches >= 2);
      CHECK(shape->thread_bytes >= kMiB);
      CHECK(shape->ring.batches * kBatchBytes + threads * shape->thread_bytes <=
            least + more);
      CHECK(shape->ring.batches <= std::max<size_t>(4, threads / 5 + 1));
    }
  }
}

TEST_CASE("an elastic thread's memory does not depend on the machine's CPUs") {
  const auto shape_on = [](uint64_t memory_bytes, size_t cpus) {
    PipelineOptions options;
    options.batch_samples = 10;
    options.threads_max = cpus;
    options.memory_bytes = memory_bytes;
    options.elastic = true;
    auto shape = pipeline_shape(options, kFloats, {10});
    REQUIRE(shape);
    CHECK(shape->ring.batches * kBatchBytes +
              shape->threads_max * shape->thread_bytes <=
          memory_bytes);
    return *shape;
  };
  const PipelineShape small = shape_on(64 * kMiB, 256);
  CHECK(small.threads_max == 2);
  CHECK(small.thread_bytes == 16 * kMiB);
  CHECK(shape_on(64 * kMiB, 1).thread_bytes == 16 * kMiB);
  CHECK(shape_on(64 * kMiB, 1).threads_max == 1);
  const PipelineShape large = shape_on(1024 * kMiB, 256);
  CHECK(large.threads_max == 16);
  CHECK(large.thread_bytes == 32 * kMiB);
  CHECK(shape_on(1024 * kMiB, 4).thread_bytes == 32 * kMiB);
  // A single thread may have less than that.
  CHECK(shape_on(8 * kMiB, 256).threads_max == 1);
  CHECK(shape_on(8 * kMiB, 256).thread_bytes == 4 * kMiB);
}

TEST_CASE(
    "a memory bound below two batches is an error that names the minimum") {
  const auto shape = shape_of(2 * kBatchBytes + 3 * kMiB - 1, 3);
  REQUIRE_FALSE(shape);
  CHECK(shape.error().code == Code::kLimit);
  CHECK_THAT(shape.error().message,
             ContainsSubstring("memory: ") && ContainsSubstring("3 threads"));
}

TEST_CASE(
    "a prepared sample has the size of a picture's crop or of the tensor") {
  CHECK(floats_per_sample(0, 224) == 150528);
  CHECK(floats_per_sample(3072, 224) == 3072);
}
