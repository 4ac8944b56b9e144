// Uses a fake of NVIDIA's library (fake_nvml.c). Answers of the real library on
// a machine with GPUs are not tested here.
#include "node_agent/nvml.h"

#include <signal.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

using Gpus = Result<std::vector<Gpu>>;

Gpus ask(const std::string& library, uint64_t deadline_ms = 20'000) {
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  (void)*loop.add_timer(20, [&] { children.expire(monotonic_ns()); });
  std::optional<Gpus> answer;
  find_gpus(children, library, deadline_ms, [&](Gpus gpus) {
    answer = std::move(gpus);
    loop.stop();
  });
  if (!answer) REQUIRE(loop.run().ok());
  return *answer;
}

// wrong: the fault to simulate, as fake_nvml.c lists them.
Gpus ask_fake(const char* wrong, uint64_t deadline_ms = 20'000) {
  ::setenv("FAKE_NVML", wrong, 1);
  Gpus gpus = ask(PENSTOCK_FAKE_NVML, deadline_ms);
  ::unsetenv("FAKE_NVML");
  return gpus;
}

// The first `times` reports of GPU use, and the result at the end.
struct Watched {
  std::vector<GpuUse> uses;
  Status ended = Done{};
};
Watched watch_fake(const char* wrong, size_t times) {
  ::setenv("FAKE_NVML", wrong, 1);
  ::signal(SIGCHLD, SIG_IGN);
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  Watched seen;
  bool is_over = false;
  watch_gpus(
      children, PENSTOCK_FAKE_NVML, 5,
      [&](const GpuUse& use) {
        seen.uses.push_back(use);
        return seen.uses.size() < times;
      },
      [&](const Status& ended) {
        seen.ended = ended;
        is_over = true;
        loop.stop();
      });
  if (!is_over) REQUIRE(loop.run().ok());
  ::unsetenv("FAKE_NVML");
  return seen;
}

}  // namespace

TEST_CASE("the driver's GPUs are listed in NVML's order") {
  Gpus gpus = ask_fake("");
  REQUIRE(gpus.ok());
  // The third cannot be reached; the others keep their numbers.
  const std::vector<Gpu> expected = {{0, 1, {0, 0x17, 0, 0}},
                                     {1, 0, {0, 0x97, 0, 0}},
                                     {3, 3, {1, 0x97, 0, 0}}};
  CHECK(*gpus == expected);
}

TEST_CASE("the library is not loaded into this process") {
  REQUIRE(ask_fake("").ok());
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  CHECK(maps.find("libstdc++") != std::string::npos);  // the control
  CHECK(maps.find("libnvidia-ml") == std::string::npos);
}

TEST_CASE("a missing library is an error with its name") {
  Gpus gpus = ask("libpenstock-test-no-such-library.so.1");
  REQUIRE_FALSE(gpus.ok());
  CHECK(gpus.error().code == Code::kUnavailable);
  CHECK_THAT(gpus.error().message,
             Catch::Matchers::ContainsSubstring(
                 "libpenstock-test-no-such-library.so.1"));
}

TEST_CASE(
    "a library without NVML's functions is an error with the missing one") {
  Gpus gpus = ask("libm.so.6");
  REQUIRE_FALSE(gpus.ok());
  CHECK_THAT(gpus.error().message,
             Catch::Matchers::ContainsSubstring("nvmlInit_v2"));
}

TEST_CASE("a missing driver is an error with NVML's text") {
  Gpus gpus = ask_fake("no_driver");
  REQUIRE_FALSE(gpus.ok());
  CHECK(gpus.error().code == Code::kUnavailable);
  CHECK(gpus.error().message == "nvmlInit_v2: Driver Not Loaded");
}

TEST_CASE("a library that hangs is abandoned at the deadline") {
  const uint64_t begun_ns = monotonic_ns();
  Gpus gpus = ask_fake("hang", 300);
  const double took_ms = double(monotonic_ns() - begun_ns) * 1e-6;
  REQUIRE_FALSE(gpus.ok());
  CHECK(gpus.error().code == Code::kUnavailable);
  CHECK_THAT(gpus.error().message,
             Catch::Matchers::ContainsSubstring("within 300 ms"));
  CHECK(took_ms >= 300);
  CHECK(took_ms < 5000);
}

TEST_CASE("a crash of the library ends only the child") {
  for (const char* how : {"crash", "crash_late"}) {
    CAPTURE(how);
    Gpus gpus = ask_fake(how);
    REQUIRE_FALSE(gpus.ok());
    CHECK_THAT(gpus.error().message,
               Catch::Matchers::ContainsSubstring("crashed") &&
                   Catch::Matchers::ContainsSubstring("cut short"));
  }
}

TEST_CASE("an impossible number of GPUs is an error") {
  Gpus gpus = ask_fake("many");
  REQUIRE_FALSE(gpus.ok());  // the same four again and again
  CHECK(gpus.error().code == Code::kInvalidArgument);
  CHECK_THAT(gpus.error().message,
             Catch::Matchers::ContainsSubstring("already"));
}

TEST_CASE("where a GPU is divided, Slurm's numbers say nothing") {
  Gpus gpus = ask_fake("mig");
  REQUIRE_FALSE(gpus.ok());
  CHECK(gpus.error().code == Code::kUnavailable);
  CHECK(gpus.error().message ==
        "GPU 1 has MIG enabled, so Slurm's numbers are not NVML's");
}

TEST_CASE("the GPUs' use is reported until the reader stops it") {
  const Watched seen = watch_fake("", 3);
  CHECK(seen.ended.ok());
  REQUIRE(seen.uses.size() == 3);
  // The second does not report its use, the third cannot be reached, the last
  // does not list its processes.
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  CHECK(seen.uses[0] == GpuUse{{0, {0.1, 2, GpuMemory{30 * kGiB, 80 * kGiB}}},
                               {1, {{}, 0, {}}},
                               {3, {0.75, {}, {}}}});
  CHECK(seen.uses[2].at(0).busy > seen.uses[1].at(0).busy);
}

TEST_CASE("a failure to read the GPUs' use is an error with its cause") {
  Watched seen = watch_fake("no_driver", 3);
  CHECK(seen.uses.empty());
  REQUIRE_FALSE(seen.ended.ok());
  CHECK(seen.ended.error().code == Code::kUnavailable);
  CHECK(seen.ended.error().message == "nvmlInit_v2: Driver Not Loaded");
  seen = watch_fake("crash_late", 1000);
  REQUIRE_FALSE(seen.ended.ok());
  CHECK(seen.ended.error().code == Code::kInvalidArgument);
  CHECK_THAT(seen.ended.error().message,
             Catch::Matchers::ContainsSubstring("crashed"));
}
