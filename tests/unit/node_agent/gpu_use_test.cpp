#include "node_agent/plan/gpu_use.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

const CpuSet kHeld({0, 1, 2});

GpuState busy(double share) { return {share, {}, {}}; }

}  // namespace

TEST_CASE(
    "the newest complete record of GPU use is taken, a partial one is kept") {
  const GpuUse first = {{0, {0.25, 0, {}}}, {3, {1, 2, {}}}},
               second = {{0, {0.5, {}, GpuMemory{3 * kGiB, 80 * kGiB}}},
                         {1, {{}, 1, {}}}};
  std::string text = format_gpu_use(first) + format_gpu_use(second) + "0 7";
  CHECK(**take_gpu_use(text) == second);
  CHECK(text == "0 7");
  CHECK_FALSE(*take_gpu_use(text));  // no complete record
  text += "5 3 - -\nend\n";
  CHECK(**take_gpu_use(text) == GpuUse{{0, {0.75, 3, {}}}});
  CHECK(text.empty());
  CHECK(format_gpu_use({{1, {7, 10000, {}}}}) == "1 100 9999 - -\nend\n");
}

TEST_CASE("malformed records of GPU use are refused") {
  for (const char* line :
       {"", "0", "0 1", "0 1 2", "0 1 2 3", "0 101 0 - -", "0 -1 0 - -",
        "256 1 0 - -", "x 1 0 - -", "- 1 0 - -", "0 1 2 3 4 5", "0 1 10000 - -",
        "0 -- 1 - -", "0 1 2 3 -1", "0 1 2 3 100000000"}) {
    std::string text = std::string(line) + "\nend\n";
    const auto use = take_gpu_use(text);
    CAPTURE(line);
    REQUIRE_FALSE(use.ok());
    CHECK(use.error().code == Code::kInvalidArgument);
  }
  std::string endless(20000, '1');
  REQUIRE_FALSE(take_gpu_use(endless).ok());
}

TEST_CASE("as many GPUs as a node can have are a complete record") {
  GpuUse all;
  for (int i = 0; i < 256; ++i) {
    all[i] = {1, 9999, GpuMemory{9999 * kGiB, 9999 * kGiB}};
  }
  std::string text = format_gpu_use(all);
  CHECK(**take_gpu_use(text) == all);
}

TEST_CASE("a job's GPU use is the mean over its GPUs") {
  const GpuUse use = {
      {0, busy(0.5)}, {1, busy(1)}, {2, busy(0)}, {3, {{}, 0, {}}}};
  CHECK(*mean_busy(use_of(use, CpuSet({0, 1}))) == Approx(0.75));
  CHECK(*mean_busy(use_of(use, CpuSet({0, 7}))) == Approx(0.5));
  CHECK_FALSE(mean_busy(use_of(use, CpuSet({7}))));
  CHECK_FALSE(mean_busy(use_of(use, CpuSet({3}))));
  CHECK_FALSE(mean_busy({}));
}

TEST_CASE("a job's GPUs without a process are counted") {
  const GpuUse use = {
      {0, {{}, 2, {}}}, {1, {{}, 0, {}}}, {2, {}}, {3, {{}, 0, {}}}};
  // Nothing is known of GPUs 2 and 5.
  CHECK(without_process(use_of(use, CpuSet({0, 1, 2, 5}))) == 1u);
  CHECK(without_process(use_of(use, CpuSet({0}))) == 0u);
  CHECK_FALSE(without_process(use_of(use, CpuSet({2, 5}))));
}

TEST_CASE("the totals have the mean use of the time that was watched") {
  GpuTotals totals;
  totals.add(kHeld, {{0, busy(1)}, {1, busy(0)}}, 2);
  totals.add(kHeld, {}, 5);  // not known
  totals.add(kHeld, {{0, busy(1)}, {1, busy(1)}}, 2);
  CHECK(totals.watched_s == 4);
  CHECK(totals.busy_s == Approx(3));
  CHECK(totals.watched_gpu_s == 8);
  CHECK(totals.busy_gpu_s == Approx(6));
  CHECK(totals.gpus == kHeld);
  CHECK(totals.known == CpuSet({0, 1}));
}

TEST_CASE("the longest idle time is of one and the same GPU") {
  GpuTotals totals;
  // GPUs 0 and 1 take turns: neither is idle for long.
  for (int i = 0; i < 10; ++i) {
    totals.add(kHeld, {{0, busy(i % 2)}, {1, busy((i + 1) % 2)}}, 60);
  }
  CHECK(totals.longest_idle_s == 60);
  for (int i = 0; i < 5; ++i)
    totals.add(kHeld, {{0, busy(0.01)}, {1, busy(0)}}, 60);
  CHECK(totals.longest_idle_s >= 300);
  totals.add(kHeld, {{1, busy(0.5)}}, 1);
  totals.add(kHeld, {{1, busy(0)}}, 60);
  CHECK(totals.longest_idle_s <= 360);
  CHECK(totals.idle_s.at(1) == 60);
}

TEST_CASE("the most used memory is of one GPU, with that one's size") {
  GpuTotals totals;
  totals.add(kHeld,
             {{0, {{}, {}, GpuMemory{30 * kGiB, 40 * kGiB}}},
              {1, {{}, {}, GpuMemory{20 * kGiB, 80 * kGiB}}}},
             1);
  totals.add(kHeld, {{0, {{}, {}, GpuMemory{1 * kGiB, 40 * kGiB}}}}, 1);
  CHECK(*totals.memory == GpuMemory{30 * kGiB, 40 * kGiB});
  CHECK(totals.watched_s == 0);
}

TEST_CASE("idle times on both sides of a gap are not one") {
  GpuTotals totals;
  totals.add(kHeld, {{0, busy(0)}}, 60);
  totals.add(kHeld, {}, 600);  // not known
  totals.add(kHeld, {{0, busy(0)}}, 50);
  CHECK(totals.longest_idle_s == 60);
}
