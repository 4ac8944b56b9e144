#include "loader/staging/stage_rules.h"

#include <array>

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("unpacked words equal the packed ones") {
  const ConsumerWord job{ConsumerWord::State::kOut, 1023, 4095,
                         (uint64_t{1} << 40) - 1};
  const ConsumerWord same = ConsumerWord::of(job.packed());
  CHECK(same.state == job.state);
  CHECK(same.member == job.member);
  CHECK(same.generation == job.generation);
  CHECK(same.next == job.next);

  const StageWord slot{StageWord::State::kReady, 1023, 4095, kMostBuffers - 1,
                       kMostLaps - 1};
  const StageWord slot_again = StageWord::of(slot.packed());
  CHECK(slot_again.state == slot.state);
  CHECK(slot_again.member == slot.member);
  CHECK(slot_again.generation == slot.generation);
  CHECK(slot_again.buffer == slot.buffer);
  CHECK(slot_again.lap == slot.lap);

  const BufferTag tag{true, 1023, 4095, (uint64_t{1} << 40) - 1};
  const BufferTag tag_again = BufferTag::of(tag.packed());
  CHECK(tag_again.is_written);
  CHECK(tag_again.member == tag.member);
  CHECK(tag_again.generation == tag.generation);
  CHECK(tag_again.ticket == tag.ticket);
  CHECK_FALSE(BufferTag::of(tag.packed() - 1).is_written);
}

TEST_CASE(
    "the window starts at the slowest job and ends at the last wanted batch") {
  CHECK(stage_window({}, 4).end == 0);
  const std::array<StagePlace, 2> endless{{{7}, {5}}};
  CHECK(stage_window(endless, 4).begin == 5);
  CHECK(stage_window(endless, 4).end == 9);
  const std::array<StagePlace, 2> both{{{7, 8}, {5, 6}}};
  CHECK(stage_window(both, 4).begin == 5);
  CHECK(stage_window(both, 4).end == 8);
  CHECK(stage_window(both, 2).end == 7);
  // A job that got all wanted batches and has not left yet.
  const std::array<StagePlace, 1> done{{{6, 6}}};
  CHECK_FALSE(stage_window(done, 4).holds(6));
  const std::array<StagePlace, 1> beyond{{{9, 6}}};
  CHECK_FALSE(stage_window(beyond, 4).holds(9));
  CHECK_FALSE(stage_window(beyond, 4).holds(7));
}

TEST_CASE("a slot is free for a batch if its content is older") {
  using State = StageWord::State;
  const auto rule = [](State state, uint64_t lap, uint64_t batch) {
    return slot_rule({.state = state, .lap = lap}, batch, 4);
  };
  CHECK(rule(State::kUnused, 0, 2) == SlotRule::kFree);
  CHECK(rule(State::kClaimed, 0, 2) == SlotRule::kClaimed);
  CHECK(rule(State::kReady, 0, 2) == SlotRule::kDone);
  CHECK(rule(State::kReady, 0, 6) == SlotRule::kFree);
  CHECK(rule(State::kClaimed, 0, 6) == SlotRule::kClaimed);
  CHECK(rule(State::kReady, 2, 6) == SlotRule::kDone);
  CHECK(rule(State::kClaimed, 2, 6) == SlotRule::kDone);
  CHECK(rule(State::kLeft, 0, 2) == SlotRule::kFree);
  CHECK(rule(State::kLeft, 0, 6) == SlotRule::kFree);
  CHECK(rule(State::kLeft, 2, 6) == SlotRule::kDone);
}

TEST_CASE("a batch is passed over if its slot skips a lap") {
  const auto passes = [](StageWord::State state, uint64_t lap, uint64_t batch) {
    return passes_over({.state = state, .lap = lap}, batch, 4);
  };
  CHECK_FALSE(passes(StageWord::State::kUnused, 0, 2));
  CHECK(passes(StageWord::State::kUnused, 0, 6));
  CHECK_FALSE(passes(StageWord::State::kReady, 0, 6));
  CHECK_FALSE(passes(StageWord::State::kClaimed, 1, 6));
  CHECK(passes(StageWord::State::kReady, 0, 10));
}

TEST_CASE("an epoch can be joined if none of its batches was claimed") {
  CHECK(epoch_to_join(0, 3) == 0);
  CHECK(epoch_to_join(1, 3) == 1);
  CHECK(epoch_to_join(3, 3) == 1);
  CHECK(epoch_to_join(4, 3) == 2);
  CHECK(epoch_to_join(4, 1) == 4);
}

TEST_CASE("a job is in the way if the slot still holds its batch") {
  CHECK(is_in_the_way(1, 5, 4));
  CHECK_FALSE(is_in_the_way(2, 5, 4));
  CHECK_FALSE(is_in_the_way(9, 5, 4));
}

TEST_CASE("a job can continue if its batch is ready or gone") {
  using State = StageWord::State;
  const auto could = [](State state, uint64_t lap) {
    return could_go_on({.state = state, .lap = lap}, 6, 4);
  };
  CHECK_FALSE(could(State::kUnused, 0));
  CHECK_FALSE(could(State::kReady, 0));
  CHECK_FALSE(could(State::kClaimed, 1));
  CHECK(could(State::kReady, 1));
  CHECK(could(State::kClaimed, 2));
}

TEST_CASE("stillness lasts only while it is checked often") {
  constexpr uint64_t kStep = Stillness::kMostStep_ns;
  Stillness still;
  CHECK_FALSE(still.has_lasted(1, 100, 2 * kStep));
  CHECK_FALSE(still.has_lasted(1, 100 + kStep, 2 * kStep));
  CHECK(still.has_lasted(1, 100 + 2 * kStep, 2 * kStep));
  CHECK_FALSE(still.has_lasted(2, 100 + 3 * kStep, 2 * kStep));
  // Without checks the time does not count.
  CHECK_FALSE(still.has_lasted(2, 100 + 100 * kStep, 2 * kStep));
  CHECK(still.has_lasted(2, 100 + 101 * kStep, 2 * kStep));
}
