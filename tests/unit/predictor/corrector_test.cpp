#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "predictor/predictor.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// A second of a job with a ceiling of 100/s that waits for the given share.
Observation second(double wait_share) {
  Observation o;
  o.seconds = 1;
  o.sampled_s = 1;
  o.wait_s = wait_share;
  o.samples = 100 * (1 - wait_share);
  o.prepared = o.samples;
  o.bytes = o.samples * 1000;
  o.loader_cpu_s = o.samples * 0.04;
  o.trainer_cpu_s = 0.1;
  return o;
}

// A corrector fed with equal observations after the warm-up.
Corrector fed(const Observation& o, int times) {
  Corrector corrector;
  for (int i = 0; i < 2 + times; ++i) corrector.add(o);
  return corrector;
}

Prediction some_prior() {
  Profile profile;
  profile.name = "prior";
  profile.accelerator_s_per_sample = 1.0 / 70;
  profile.loader_cpu_s_per_sample = 0.05;
  profile.bytes_per_sample = 500;
  return *predict(profile);
}

TEST_CASE("with too few observations the prior is kept") {
  const Corrector nothing;
  CHECK(nothing.corrected(some_prior()).basis == "profile prior");
  CHECK(nothing.corrected(std::nullopt).basis == "unknown");
  CHECK_FALSE(nothing.corrected(std::nullopt).ceiling_samples_per_s.known());
  const Corrector short_run = fed(second(0), 1);
  CHECK(short_run.observed_s() == 1);
  CHECK(short_run.corrected(some_prior()).ceiling_samples_per_s.value ==
        Approx(70));
  // Enough time, but too few samples.
  Observation slow = second(0);
  slow.samples = slow.prepared = 2;
  CHECK(fed(slow, 6).corrected(some_prior()).basis == "profile prior");
}

TEST_CASE("the ceiling excludes waits for CPUs that the loader uses") {
  Observation o = second(0);
  o.samples = o.prepared = 50;
  o.contention_s = 0.5;
  const Prediction out = fed(o, 10).corrected(std::nullopt);
  CHECK(out.ceiling_samples_per_s.value == Approx(100));
  o.contention_s = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(fed(o, 20).trusted());
}

TEST_CASE("the start and the first steps are excluded") {
  Corrector corrector;
  Observation import;
  import.sampled_s = 1;
  import.trainer_cpu_s = 1;
  for (int i = 0; i < 20; ++i) corrector.add(import);
  Observation first = second(0);
  first.samples = 10;
  corrector.add(first);
  corrector.add(first);
  CHECK(corrector.observed_s() == 0);
  for (int i = 0; i < 3; ++i) corrector.add(second(0));
  const Prediction p = corrector.corrected(std::nullopt);
  CHECK(p.ceiling_samples_per_s.value == Approx(100));
  CHECK(p.trainer_reserve_cores == Approx(0.1));
}

TEST_CASE("a job that never waits runs at its ceiling") {
  const Prediction p = fed(second(0), 12).corrected(some_prior());
  CHECK(p.ceiling_samples_per_s.value == Approx(100));
  CHECK(p.loader_cpu_s_per_sample.value == Approx(0.04));
  CHECK(p.storage_bytes_per_sample.value == Approx(1000));
  CHECK(p.demand_cores.value == Approx(4));
  CHECK(p.demand_bytes_per_s.value == Approx(100000));
  CHECK(p.trainer_reserve_cores == Approx(0.1));
  CHECK(p.basis == "measured 12 s");
}

TEST_CASE("a starved job's ceiling follows from the time without waits") {
  for (double wait_share : {0.5, 0.75, 0.9}) {
    const Prediction p = fed(second(wait_share), 6).corrected(some_prior());
    CHECK(p.ceiling_samples_per_s.value == Approx(100));
    CHECK(p.demand_cores.value == Approx(4));
  }
}

TEST_CASE("a job without a profile is measured too") {
  const Prediction p = fed(second(0.75), 6).corrected(std::nullopt);
  CHECK(p.ceiling_samples_per_s.value == Approx(100));
  CHECK(p.demand_bytes_per_s.value == Approx(100000));
}

TEST_CASE("contradictory observations are excluded") {
  struct Row {
    const char* why;
    void (*spoil)(Observation&);
  };
  const Row rows[] = {
      {"waits longer than it runs", [](Observation& o) { o.wait_s = 1.02; }},
      {"samples in no time", [](Observation& o) { o.seconds = o.wait_s = 0; }},
      {"a rate out of this world", [](Observation& o) { o.samples = 1e10; }},
      {"a counter out of this world", [](Observation& o) { o.bytes = 1e19; }},
      {"negative", [](Observation& o) { o.samples = -1; }},
      {"NaN", [](Observation& o) { o.bytes = std::nan(""); }},
      {"infinite",
       [](Observation& o) {
         o.prepared = std::numeric_limits<double>::infinity();
       }},
      {"more CPU than there can be",
       [](Observation& o) { o.loader_cpu_s = 5000; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    Corrector corrector = fed(second(0.5), 6);
    const Prediction before = corrector.corrected(std::nullopt);
    Observation bad = second(0.5);
    bad.samples = 1e6;  // would show if it were not excluded
    row.spoil(bad);
    corrector.add(bad);
    const Prediction after = corrector.corrected(std::nullopt);
    CHECK(after.ceiling_samples_per_s.value ==
          before.ceiling_samples_per_s.value);
    CHECK(after.basis == before.basis);
    CHECK(corrector.trusted());
  }
}

TEST_CASE("waiting slightly longer than the period is not contradictory") {
  Corrector corrector = fed(second(0.5), 6);
  Observation waits = second(0.5);
  waits.wait_s = 1.005;  // two clocks read one after the other
  corrector.add(waits);
  CHECK(corrector.observed_s() == 7);
  CHECK(std::isfinite(
      corrector.corrected(std::nullopt).ceiling_samples_per_s.value));
}

TEST_CASE("a trainer that only waits has a finite ceiling") {
  Observation o = second(0);
  o.wait_s = 1;
  const Figure ceiling =
      fed(o, 6).corrected(std::nullopt).ceiling_samples_per_s;
  CHECK(ceiling.known());
  CHECK(ceiling.value == Approx(100 / 0.001));
}

TEST_CASE("a page with repeated contradictions is distrusted for a while") {
  Corrector corrector = fed(second(0), 64);
  Observation bad = second(0);
  bad.wait_s = 2;
  for (int i = 0; i < 6; ++i) corrector.add(bad);
  CHECK(corrector.trusted());
  corrector.add(bad);
  CHECK_FALSE(corrector.trusted());
  for (int i = 0; i < 64; ++i) corrector.add(second(0));
  CHECK(corrector.trusted());
}

TEST_CASE("seconds without a step count with the next step") {
  // Steps of 3 s, sampled every second: two empty observations of three.
  Corrector corrector;
  Observation step = second(0);
  step.sampled_s = 1;
  step.seconds = 3;
  step.samples = step.prepared = 60;
  step.wait_s = 1.5;
  Observation empty;
  empty.sampled_s = 1;
  empty.loader_cpu_s = 0.8;
  step.loader_cpu_s = 0.8;
  corrector.add(step);
  corrector.add(step);
  for (int i = 0; i < 4; ++i) {
    corrector.add(empty);
    corrector.add(empty);
    corrector.add(step);
  }
  const Prediction p = corrector.corrected(std::nullopt);
  CHECK(corrector.observed_s() == 12);
  CHECK(p.ceiling_samples_per_s.value == Approx(40));
  CHECK(p.loader_cpu_s_per_sample.value == Approx(0.04));
}

TEST_CASE("a pause of the trainer does not change its ceiling") {
  Corrector corrector = fed(second(0.5), 20);
  Observation evaluation = second(0.5);
  evaluation.seconds = 15;
  corrector.add(evaluation);
  CHECK(corrector.corrected(std::nullopt).ceiling_samples_per_s.value ==
        Approx(100));
}

TEST_CASE("a changed rate is followed within the window") {
  Corrector corrector = fed(second(0), 64);
  Observation faster = second(0);
  faster.samples = faster.prepared = 200;
  for (int i = 0; i < 64; ++i) corrector.add(faster);
  CHECK(corrector.corrected(std::nullopt).ceiling_samples_per_s.value ==
        Approx(200));
}

TEST_CASE("replayed samples count for the ceiling but not for the costs") {
  Corrector corrector = fed(second(0.75), 6);
  Observation replay = second(0);
  replay.replaying = true;
  replay.prepared = 0;
  replay.loader_cpu_s = replay.bytes = 0;
  for (int i = 0; i < 10; ++i) corrector.add(replay);
  const Prediction p = corrector.corrected(std::nullopt);
  CHECK(p.ceiling_samples_per_s.value == Approx(100));
  CHECK(p.loader_cpu_s_per_sample.value == Approx(0.04));
  CHECK(p.storage_bytes_per_sample.value == Approx(1000));
}

TEST_CASE("costs without a measurement are those of the prior") {
  Observation o = second(0);
  o.loader_cpu_s = 0;  // no loader thread was identified
  const Prediction p = fed(o, 6).corrected(some_prior());
  CHECK(p.loader_cpu_s_per_sample.value == Approx(0.05));
  CHECK(p.demand_cores.value == Approx(5));
  const Prediction unknown = fed(o, 6).corrected(std::nullopt);
  CHECK_FALSE(unknown.loader_cpu_s_per_sample.known());
  CHECK_FALSE(unknown.demand_cores.known());
}

TEST_CASE(
    "without counts of prepared samples, consumed samples give the costs") {
  Observation o = second(0.5);
  o.prepared = 0;
  const Prediction p = fed(o, 6).corrected(std::nullopt);
  CHECK(p.loader_cpu_s_per_sample.value == Approx(0.04));
}

// A second of a rank in a share that prepared this part of its consumed
// samples, and used a little CPU time to look for others.
Observation sharing_second(double part) {
  Observation o = second(0);
  o.sharing = true;
  o.prepared = o.samples * part;
  o.bytes = o.samples * part * 1000;
  o.loader_cpu_s = o.samples * part * 0.04 + 0.001;
  return o;
}

TEST_CASE("costs do not depend on which rank of a share prepares") {
  for (const double part : {0.0, 0.01, 0.5}) {
    CAPTURE(part);
    const Corrector most = fed(sharing_second(1 - part), 20);
    const Corrector least = fed(sharing_second(part), 20);
    const MeasuredCosts costs = Corrector::costs_of({{&most, &least}});
    CHECK(costs.loader_cpu_s.value == Approx(0.04).epsilon(0.001));
    CHECK(costs.storage_bytes.value == Approx(1000));
    const Prediction p = least.corrected(some_prior(), costs);
    CHECK(p.demand_cores.value == Approx(4).epsilon(0.001));
    CHECK(p.demand_bytes_per_s.value == Approx(100000));
  }
}

TEST_CASE("a rank that joins a share later gets the share's earlier costs") {
  const Corrector first = fed(second(0), 64);
  const Corrector second = fed(sharing_second(0), 4);
  CHECK(Corrector::costs_of({{&first, &second}}).loader_cpu_s.value ==
        Approx(0.04).epsilon(0.001));
}

TEST_CASE("in a share consumed samples give no costs") {
  const Corrector idle = fed(sharing_second(0), 20);
  const MeasuredCosts costs = Corrector::costs_of({{&idle, &idle}});
  CHECK_FALSE(costs.loader_cpu_s.known());
  CHECK_FALSE(costs.storage_bytes.known());
  CHECK(idle.corrected(some_prior(), costs).demand_cores.value == Approx(5));
}

TEST_CASE("samples of an unidentified loader do not lower the costs") {
  Observation hidden = sharing_second(0.5);
  hidden.loader_cpu_s = 0;
  const Corrector unseen = fed(hidden, 20);
  const Corrector seen = fed(sharing_second(0.5), 20);
  CHECK(Corrector::costs_of({{&unseen, &seen}}).loader_cpu_s.value ==
        Approx(0.04).epsilon(0.001));
}

TEST_CASE("the latest cache hits of any rank of a share count for all") {
  Observation stored = sharing_second(1);
  Observation cached = stored;
  cached.cached_bytes = cached.bytes;
  cached.bytes = 0;
  Corrector before, after;
  for (int i = 0; i < 20; ++i) {
    stored.ended_s = i;
    before.add(stored);
    cached.ended_s = 20 + i;
    after.add(cached);
  }
  for (const auto& ranks :
       {std::array<const Corrector*, 2>{&before, &after}, {&after, &before}}) {
    CHECK(Corrector::costs_of(ranks).storage_bytes.value ==
          Approx(0).margin(1e-9));
  }
}

TEST_CASE(
    "the trainer reserve is the 95th percentile of the trainer's CPU use") {
  Observation quiet = second(0);
  quiet.trainer_cpu_s = 0.2;
  Corrector corrector = fed(quiet, 38);
  Observation busy = second(0);
  busy.trainer_cpu_s = 0.9;
  corrector.add(busy);
  corrector.add(busy);  // two of forty: the 38th smallest is quiet
  CHECK(corrector.corrected(std::nullopt).trainer_reserve_cores == Approx(0.2));
  corrector.add(busy);
  CHECK(corrector.corrected(std::nullopt).trainer_reserve_cores == Approx(0.9));
}

TEST_CASE("storage demand excludes the bytes that the cache serves now") {
  Corrector corrector = fed(second(0), 20);  // the first epoch
  CHECK(corrector.corrected(std::nullopt).storage_bytes_per_sample.value ==
        Approx(1000));
  Observation cached = second(0);
  cached.cached_bytes = cached.bytes * 0.75;
  cached.bytes *= 0.25;
  for (int i = 0; i < 8; ++i) corrector.add(cached);
  const Prediction seen = corrector.corrected(std::nullopt);
  CHECK(seen.storage_bytes_per_sample.value == Approx(250));
  CHECK(seen.demand_bytes_per_s.value == Approx(25000));
  cached.cached_bytes = 100 * 1000;
  cached.bytes = 0;
  for (int i = 0; i < 8; ++i) corrector.add(cached);
  CHECK(corrector.corrected(std::nullopt).storage_bytes_per_sample.value ==
        Approx(0).margin(1e-9));
}

TEST_CASE("a pause of loading keeps the cache's last share") {
  Observation cached = second(0);
  cached.cached_bytes = cached.bytes;
  cached.bytes = 0;
  Corrector corrector = fed(cached, 20);
  Observation idle = second(0);
  idle.bytes = idle.prepared = 0;
  for (int i = 0; i < 8; ++i) corrector.add(idle);
  CHECK(corrector.corrected(std::nullopt).storage_bytes_per_sample.value ==
        Approx(0).margin(1e-9));
}

TEST_CASE("cached bytes that are NaN are a contradiction") {
  Observation bad = second(0);
  bad.cached_bytes = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(fed(bad, 64).trusted());
}

}  // namespace
}  // namespace penstock
