#include "loader/lmdb/mpi/coalesce.h"

#include <random>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

constexpr uint64_t kFile = uint64_t{1} << 24;

// Every record's bytes are within one request, whose bytes are within the
// buffer and the file; requests do not overlap in the buffer.
void check_plan(const std::vector<RecordSpan>& spans,
                const CoalesceRules& rules, const ReadPlan& plan) {
  uint64_t used = 0;
  for (const ReadRequest& request : plan.requests) {
    REQUIRE(request.bytes > 0);
    REQUIRE(request.buffer_offset >= used);
    REQUIRE(request.offset % rules.align_bytes == 0);
    REQUIRE(request.buffer_offset % rules.align_bytes == 0);
    REQUIRE(request.offset + request.bytes <= rules.file_bytes);
    used = request.buffer_offset + request.bytes;
  }
  REQUIRE(used == plan.used_bytes);
  REQUIRE(used <= rules.buffer_bytes);
  for (size_t i = 0; i < spans.size(); ++i) {
    bool is_within = spans[i].bytes == 0;
    for (const ReadRequest& request : plan.requests) {
      const uint64_t at = plan.places[i] - request.buffer_offset;
      is_within |= plan.places[i] >= request.buffer_offset &&
                   at + spans[i].bytes <= request.bytes &&
                   request.offset + at == spans[i].offset;
    }
    REQUIRE(is_within);
  }
}

std::vector<RecordSpan> random_spans(std::mt19937_64& random, size_t count) {
  std::vector<RecordSpan> spans;
  for (size_t i = 0; i < count; ++i) {
    const auto bytes =
        static_cast<uint32_t>(random() % 4 == 0 ? 0 : random() % 30000);
    spans.push_back({random() % (kFile - bytes), bytes});
  }
  return spans;
}

}  // namespace

TEST_CASE("records are at the places of the plan, for any rules") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto spans = random_spans(random, 1 + random() % 60);
    const uint32_t align = round % 2 == 0 ? 4096 : 1;
    uint64_t needed = 0;
    for (const RecordSpan& span : spans) {
      needed += padded_bytes(span.bytes, align);
    }
    const CoalesceRules rules{random() % 3 * 500000, random() % 3 * 40000,
                              align, kFile, needed + random() % 100000};
    const Result<ReadPlan> plan = coalesce(spans, rules);
    REQUIRE(plan);
    check_plan(spans, rules, *plan);
  }
}

TEST_CASE("adjacent records are joined up to the request's size") {
  const std::vector<RecordSpan> spans{{0, 100}, {100, 100}, {200, 100}};
  const auto count = [&](uint64_t request_bytes) {
    return coalesce(spans, {request_bytes, 0, 1, kFile, 1000})->requests.size();
  };
  CHECK(count(0) == 3);
  CHECK(count(200) == 2);
  CHECK(count(300) == 1);
}

TEST_CASE("gaps are read only if they are small and fit") {
  const std::vector<RecordSpan> spans{{0, 100}, {150, 100}};
  const auto count = [&](uint64_t gap, uint64_t buffer) {
    return coalesce(spans, {1000, gap, 1, kFile, buffer})->requests.size();
  };
  CHECK(count(50, 1000) == 1);
  CHECK(count(49, 1000) == 2);
  CHECK(count(50, 249) == 2);
}

TEST_CASE("records in any order are read in file order") {
  const Result<ReadPlan> plan = coalesce(
      std::vector<RecordSpan>{{500, 10}, {100, 10}}, {0, 0, 1, kFile, 100});
  REQUIRE(plan);
  CHECK(plan->requests[0].offset == 100);
  CHECK(plan->places == std::vector<uint64_t>{10, 0});
}

TEST_CASE("records beyond the buffer are refused") {
  const auto plan =
      coalesce(std::vector<RecordSpan>{{0, 100}}, {0, 0, 1, kFile, 99});
  REQUIRE(!plan);
  CHECK(plan.error().code == Code::kLimit);
}

TEST_CASE("a record beyond the file's end is refused") {
  const auto plan =
      coalesce(std::vector<RecordSpan>{{90, 20}}, {0, 0, 1, 100, 1000});
  REQUIRE(!plan);
  CHECK(plan.error().code == Code::kIo);
}
