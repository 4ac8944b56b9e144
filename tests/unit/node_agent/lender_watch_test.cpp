#include "node_agent/plan/lender_watch.h"

#include <cstdint>

#include "tests/unit/catch.h"

using penstock::LenderWatch;

namespace {

// A job that is observed once a second.
struct Watched {
  LenderWatch watch;
  double now_s = 100;
  double lent_cpu_s = 0;
  double used_cpu_s = 0.5;  // by others, in a period of a loan
  uint32_t noise = 12345;
  bool to_guest = false;
  // Verdicts so far.
  int measure = 0, from_guests = 0;

  // Observes figures in the given band; returns how many verdicts were
  // kSuffers.
  int look(int times, bool lent, double figure, double band = 0,
           bool is_rate = true) {
    int suffered = 0;
    for (int i = 0; i < times; ++i) {
      noise = noise * 1664525 + 1013904223;  // the same in every run
      const double part = double(noise >> 8) / double(1 << 24) - 0.5;
      now_s += 1;
      if (lent) lent_cpu_s += used_cpu_s;
      const auto verdict =
          watch.look({now_s, lent, lent_cpu_s, lent && to_guest,
                      figure + band * part, is_rate});
      suffered += verdict == LenderWatch::Verdict::kSuffers;
      measure += verdict == LenderWatch::Verdict::kMeasure;
      from_guests += verdict == LenderWatch::Verdict::kSuffersFromGuests;
    }
    return suffered;
  }
  // Of a loan whose CPUs nobody uses.
  int look_unused(int times, double figure, double band) {
    used_cpu_s = 0;
    const int suffered = look(times, true, figure, band, false);
    used_cpu_s = 0.5;
    return suffered;
  }
};

}  // namespace

TEST_CASE("a job lends only after its baseline is complete") {
  Watched job;
  CHECK_FALSE(job.watch.may_lend(job.now_s));
  job.look(int(LenderWatch::kBaseline) - 1, false, 200);
  CHECK_FALSE(job.watch.may_lend(job.now_s));
  job.look(1, false, 200);
  CHECK(job.watch.may_lend(job.now_s));
}

TEST_CASE("a job without figures lends after kPatience_s seconds") {
  LenderWatch watch;
  CHECK(watch.look({.now_s = 100}) == LenderWatch::Verdict::kGoOn);
  CHECK_FALSE(watch.may_lend(100 + LenderWatch::kPatience_s - 1));
  CHECK(watch.may_lend(100 + LenderWatch::kPatience_s));
}

TEST_CASE("an idle job lends at once and is measured once it is busy") {
  LenderWatch watch;
  CHECK_FALSE(watch.may_lend(99));
  watch.look({.now_s = 100, .is_idle = true});
  CHECK(watch.may_lend(100));
  auto verdict = LenderWatch::Verdict::kGoOn;
  int looks = 0;
  while (verdict == LenderWatch::Verdict::kGoOn && looks < 30) {
    ++looks;
    verdict = watch.look({.now_s = 100.0 + looks,
                          .lent = true,
                          .lent_cpu_s = 1.0 + looks,
                          .figure = 0.9});
  }
  CHECK(verdict == LenderWatch::Verdict::kMeasure);
  CHECK(looks == int(LenderWatch::kJudged));
  CHECK_FALSE(watch.may_lend(100.0 + looks));
}

TEST_CASE(
    "a lender that slows down by more than 2% ends its loan and is barred") {
  Watched job;
  job.look(10, false, 200, 1);
  CHECK(job.look(int(LenderWatch::kJudged) - 1, true, 194, 1) == 0);
  CHECK(job.look(1, true, 194, 1) == 1);
  CHECK_FALSE(job.watch.may_lend(job.now_s + LenderWatch::kBarred_s - 1));
}

TEST_CASE("a lender that slows down by less than 2% keeps lending") {
  Watched job;
  job.look(10, false, 200, 1);
  CHECK(job.look(60, true, 198, 1) == 0);
  CHECK(job.watch.may_lend(job.now_s));
}

TEST_CASE("a slowdown within the noise does not end a loan") {
  Watched job;
  job.look(10, false, 200, 120);
  // 3% less, of figures that scatter by 30%.
  CHECK(job.look(60, true, 194, 120) == 0);
}

TEST_CASE("an hour of noise ends at most two loans") {
  int suffered = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Watched job;
    job.noise = seed;
    job.look(int(LenderWatch::kBaseline), false, 200, 80);
    suffered += job.look(60, true, 200, 80);
  }
  CHECK(suffered <= 2);
}

TEST_CASE("after the bar a job gets a new baseline before it lends again") {
  Watched job;
  job.look(10, false, 200);
  REQUIRE(job.look(10, true, 100) == 1);
  // The job has slowed down for other reasons.
  job.look(int(LenderWatch::kBarred_s), false, 100);
  REQUIRE(job.watch.may_lend(job.now_s));
  CHECK(job.look(60, true, 100) == 0);
}

TEST_CASE("a rate is never compared with a share of CPU time") {
  Watched job;
  job.look(10, false, 0.99, 0, false);
  REQUIRE(job.watch.may_lend(job.now_s));
  // It reports now, while its CPUs are lent: there is nothing to compare with.
  CHECK(job.look(int(LenderWatch::kJudged), true, 150) == 0);
  CHECK(job.measure == 1);
  CHECK_FALSE(job.watch.may_lend(job.now_s));
  // Unlent it does better, and the next loan is judged by that.
  job.look(int(LenderWatch::kBaseline), false, 200);
  REQUIRE(job.watch.may_lend(job.now_s));
  CHECK(job.look(int(LenderWatch::kJudged), true, 150) == 1);
}

TEST_CASE("busy neighbours between the uses of a loan are not the loan") {
  Watched job;
  job.look(10, false, 0.998, 0.002, false);  // beside an idle neighbour
  int suffered = 0;
  for (int phases = 0; phases < 20; ++phases) {
    for (int i = 0; i < 4; ++i) {  // pauses, and somebody uses its CPU
      job.lent_cpu_s += 1;
      job.watch.look({job.now_s += 1, true, job.lent_cpu_s, {}, false, true});
    }
    suffered += job.look(1, true, 0.95, 0.002, false);
    suffered += job.look_unused(4, 0.975, 0.002);
  }
  CHECK(suffered == 0);
}

TEST_CASE("a loan that is used now and then is judged by what it costs") {
  for (const int unused : {1, 4, 9}) {
    INFO(unused);
    Watched job;
    job.look(10, false, 0.998, 0.002, false);
    int suffered = 0;
    for (int i = 0; i < 30; ++i) {
      suffered += job.look(1, true, 0.5, 0.002, false);
      suffered += job.look_unused(unused, 0.998, 0.002);
    }
    CHECK(suffered > 0);
  }
}

TEST_CASE("a lender that suffers beside guests first bars guests alone") {
  Watched job;
  job.look(10, false, 200, 1);
  job.to_guest = true;
  CHECK(job.look(int(LenderWatch::kJudged), true, 190, 1) == 0);
  CHECK(job.from_guests == 1);
  CHECK(job.watch.may_lend(job.now_s));
  CHECK_FALSE(job.watch.may_lend_to_guests(job.now_s));

  SECTION("and lends to the others while they do no harm") {
    job.to_guest = false;
    CHECK(job.look(int(LenderWatch::kBarred_s) - 1, true, 199, 1) == 0);
    CHECK_FALSE(job.watch.may_lend_to_guests(job.now_s));
    job.look(1, true, 199, 1);
    CHECK(job.watch.may_lend_to_guests(job.now_s));
  }
  SECTION("and everybody if it goes on") {
    job.to_guest = false;
    CHECK(job.look(int(LenderWatch::kJudged), true, 190, 1) == 1);
    CHECK_FALSE(job.watch.may_lend(job.now_s));
    // Guests come back after the others.
    job.look(int(LenderWatch::kBarred_s), false, 200, 1);
    CHECK(job.watch.may_lend(job.now_s));
    CHECK_FALSE(job.watch.may_lend_to_guests(job.now_s));
    job.look(int(LenderWatch::kBarred_s), false, 200, 1);
    CHECK(job.watch.may_lend_to_guests(job.now_s));
  }
}

TEST_CASE("periods without a figure do not tell guests from others") {
  Watched job;
  job.look(10, false, 200, 1);
  job.to_guest = true;
  job.look(int(LenderWatch::kJudged) - 1, true, 190, 1);
  job.to_guest = false;
  for (int i = 0; i < 20; ++i) {
    job.now_s += 1;
    job.lent_cpu_s += 0.5;
    job.watch.look({.now_s = job.now_s,
                    .lent = true,
                    .lent_cpu_s = job.lent_cpu_s,
                    .is_rate = true});
  }
  CHECK(job.look(1, true, 190, 1) == 0);
  CHECK(job.from_guests == 1);
}

TEST_CASE("a guest that has left long ago is not the one that harms") {
  Watched job;
  job.look(10, false, 200, 1);
  job.to_guest = true;
  job.look(20, true, 200, 1);
  job.to_guest = false;
  job.look(int(LenderWatch::kJudged), true, 200, 1);
  CHECK(job.look(int(LenderWatch::kJudged), true, 190, 1) == 1);
  CHECK(job.from_guests == 0);
}
