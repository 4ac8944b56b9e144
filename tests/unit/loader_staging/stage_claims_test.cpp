// Exclusive writes to a buffer with threads stopped between two steps.
#include "loader/staging/stage_claims.h"

#include <cstring>
#include <optional>

#include "loader/cache/fault_point.h"
#include "loader/staging/stage_seat.h"
#include "tests/unit/loader_staging/fibers.h"
#include "tests/unit/loader_staging/stage_case.h"

using namespace penstock;
using namespace penstock::test;

namespace {

const char* stops_at = nullptr;

}  // namespace

// The test build of the library calls this at its fault points.
void penstock::fault_point(const char* name) {
  if (stops_at == nullptr || std::strcmp(stops_at, name) != 0) return;
  stops_at = nullptr;
  Fiber::pause();
}

namespace {

constexpr StageShape kShape{8, 4096, 2, 4};

// An entered job with the state of its preparing threads.
struct Job {
  explicit Job(StageCase& folder)
      : file(folder.join(kShape)),
        overdue(kShape.window),
        claims(*file, overdue),
        seat(*file, overdue, {}) {
    REQUIRE(seat.reserve());
    CHECK(seat.enter(0) == 0);
  }
  ~Job() { file->leave(); }

  // Marks the slot's claim as overdue.
  void give_up_waiting(uint32_t slot) {
    overdue.mark(slot, file->slot(slot).word);
  }

  std::unique_ptr<StageFile> file;
  OverdueClaims overdue;
  StageClaims claims;
  StageSeat seat;
};

// A thread stopped at a fault point of its claim or of publishing.
struct StoppedThread {
  StoppedThread(Job& job, const char* point)
      : fiber([this, &job] {
          claim = job.claims.claim(false);
          if (claim && job.claims.publish(*claim)) published = claim->batch;
        }) {
    stops_at = point;
    fiber.resume();
    REQUIRE_FALSE(fiber.has_ended());
  }
  void go_on() {
    fiber.resume();
    REQUIRE(fiber.has_ended());
  }

  std::optional<StageClaim> claim;
  std::optional<uint64_t> published;
  Fiber fiber;
};

}  // namespace

// Two claims of one process to the same batch and buffer have equal words.
TEST_CASE("a stopped thread does not mistake its sibling's claim for its own") {
  for (const char* point :
       {"looked at the tag", "taking the buffer", "finished"}) {
    CAPTURE(point);
    StageCase folder;
    Job one(folder), two(folder);
    StoppedThread stopped(one, point);
    two.give_up_waiting(0);
    const auto other = two.claims.claim(false);
    REQUIRE(other);
    CHECK(other->batch == 0);
    CHECK(other->buffer != 0);
    one.give_up_waiting(0);  // this thread is stopped, too
    const auto sibling = one.claims.claim(false);
    REQUIRE(sibling);
    CHECK(sibling->batch == 0);
    stopped.go_on();
    CHECK(stopped.published != 0);
    CHECK(one.claims.holds(*sibling));
    CHECK(one.claims.publish(*sibling));
    CHECK_FALSE(two.claims.publish(*other));
    uint32_t buffer = 0;
    CHECK(one.seat.take(buffer) == StageSeat::Take::kGot);
    CHECK(buffer == sibling->buffer);
  }
}

// Another process of the user may have damaged any word.
TEST_CASE("a slot with an invalid buffer does no harm") {
  StageCase folder;
  Job job(folder);
  const auto damage = [&](StageWord::State state) {
    StageWord word;
    word.state = state;
    word.buffer = kMostBuffers - 1;
    job.file->slot(0).word = word.packed();
  };
  uint32_t buffer = 0;
  damage(StageWord::State::kReady);
  CHECK(job.seat.take(buffer) == StageSeat::Take::kNotYet);
  damage(StageWord::State::kClaimed);
  job.seat.look_around(0);
  damage(StageWord::State::kLeft);
  const auto claim = job.claims.claim(true);
  REQUIRE(claim);
  CHECK(claim->batch == 0);
  CHECK(claim->buffer < kShape.buffers);
  CHECK(job.claims.publish(*claim));
  CHECK(job.seat.take(buffer) == StageSeat::Take::kGot);
}
