#include "predictor/what_if.h"

#include <cmath>

#include "tests/unit/catch.h"
#include "tests/unit/predictor/random_profile.h"

namespace penstock {
namespace {

// 100 samples/s at most; 40 with one core, 70 with two, 80 with three; 10 kB
// each from 0.5 MB/s of storage, half of them cached: 100 of them.
Profile simple_profile() {
  Profile profile;
  profile.name = "simple";
  profile.accelerator_s_per_sample = 0.01;
  profile.rate_at_cores = {40, 70, 80};
  profile.bytes_per_sample = 1e4;
  profile.cached_share = 0.5;
  profile.fetch_bytes_per_s = 5e5;
  profile.relative_error = 0.1;
  return profile;
}

WhatIf model_of(const Profile& profile, CoresOf cores_of = CoresOf::kTask) {
  auto model = WhatIf::from(profile, cores_of);
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

double rate(const WhatIf& model, const Amounts& amounts) {
  return model.at(amounts).samples_per_s.value;
}

Amounts with_cores(Amounts amounts, double cores) {
  amounts.cores = cores;
  return amounts;
}

TEST_CASE("at sharp corners the rate is the least of ceiling, prep and fetch") {
  const WhatIf model = model_of(simple_profile());
  Amounts amounts = model.present();
  CHECK(amounts.cores == 3);
  CHECK(amounts.cached_share == 0.5);
  CHECK(amounts.bandwidth_bytes_per_s == 5e5);
  CHECK(amounts.ranks == 1);
  CHECK_FALSE(model.corner_known());

  WhatIfPoint at = model.at(amounts);
  CHECK(at.samples_per_s.value == Approx(80));
  CHECK(at.samples_per_s.low == Approx(72));
  CHECK(at.samples_per_s.high == Approx(88));
  CHECK(at.ceiling_samples_per_s == Approx(100));
  CHECK(at.share_of_ceiling() == Approx(0.8));
  CHECK(at.prep_samples_per_s == Approx(80));
  CHECK(at.fetch_samples_per_s == Approx(100));
  CHECK(at.bottleneck == Bottleneck::kPrep);
  CHECK_FALSE(at.extrapolated);

  CHECK(rate(model, with_cores(amounts, 1.5)) == Approx(55));
  amounts.cached_share = 0;
  at = model.at(amounts);
  CHECK(at.samples_per_s.value == Approx(50));
  CHECK(at.bottleneck == Bottleneck::kFetch);
  amounts.bandwidth_bytes_per_s = 2e6;
  amounts.cores = 6;  // 80 with 3 cores, so 160
  at = model.at(amounts);
  CHECK(at.samples_per_s.value == Approx(100));
  CHECK(at.bottleneck == Bottleneck::kCompute);
  CHECK(at.extrapolated);
  amounts.accelerator_factor = 2;
  at = model.at(amounts);
  CHECK(at.samples_per_s.value == Approx(160));
  CHECK(at.ceiling_samples_per_s == Approx(200));
}

TEST_CASE("at smooth corners the rate is below the least limit") {
  Profile profile = simple_profile();
  profile.corner_ceiling = 2;
  profile.corner_storage = 1;
  const WhatIf model = model_of(profile);
  CHECK(model.corner_known());
  // The loader: 80 and 100 at p = 1; then 100 at p = 2.
  const double loader = 80 * 100 / 180.0;
  CHECK(rate(model, model.present()) ==
        Approx(1 / std::sqrt(1 / (loader * loader) + 1e-4)));
}

TEST_CASE("the trainer's CPU reduces the task's cores only") {
  Profile profile = simple_profile();
  profile.rate_at_cores = {40};
  profile.trainer_cpu_s_per_sample = 0.005;
  // x = 40 (c - 0.005 x): with 3 cores 100; with 2 cores 80 / 1.2.
  const WhatIf task = model_of(profile);
  WhatIfPoint at = task.at(with_cores(task.present(), 2));
  CHECK(at.samples_per_s.value == Approx(80 / 1.2));
  CHECK(at.trainer_cores == Approx(0.005 * 80 / 1.2));
  CHECK(at.prep_samples_per_s == Approx(80 / 1.2));
  const WhatIf loader = model_of(profile, CoresOf::kLoader);
  at = loader.at(with_cores(loader.present(), 2));
  CHECK(at.samples_per_s.value == Approx(80));
  CHECK(at.trainer_cores == 0);
  // 97 samples/s: 2.425 cores, and the trainer's 0.485 beside them.
  CHECK(task.enough_cores(task.present()).amount == Approx(2.91));
  CHECK(loader.enough_cores(loader.present()).amount == Approx(2.425));
}

TEST_CASE("a loader's threads limit its gain from more cores") {
  Profile profile = simple_profile();
  profile.loader_threads = 3;
  WhatIf model = model_of(profile);
  CHECK(rate(model, with_cores(model.present(), 16)) == Approx(80));
  Enough enough = model.enough_cores(model.present());
  CHECK(enough.kind == Enough::Kind::kNone);
  CHECK(enough.why == "the loader has too few threads");
  // Cores measured beyond the loader's threads count.
  profile.loader_threads = 1;
  CHECK(rate(model_of(profile), model.present()) == Approx(80));
  profile.loader_threads = 4;
  model = model_of(profile);
  enough = model.enough_cores(model.present());
  REQUIRE(enough.kind == Enough::Kind::kAmount);
  CHECK(enough.amount == Approx(97 / 80.0 * 3));
  CHECK(enough.extrapolated);
}

TEST_CASE("the smallest amounts at a sharp corner match those by hand") {
  const WhatIf model = model_of(simple_profile());
  Amounts others = model.present();
  others.cores = 8;
  // 97 samples/s of 10 kB from 0.5 MB/s: 0.97 MB/s, of which 0.47 are cached.
  CHECK(model.enough_cache(others).amount == Approx(47 / 97.0));
  CHECK(model.enough_bandwidth(others).amount == Approx(4.85e5));
  others.cores = 3;
  for (const Enough& none :
       {model.enough_cache(others), model.enough_bandwidth(others)}) {
    CHECK(none.kind == Enough::Kind::kNone);
    CHECK(none.why == "the cores prepare too little");
  }
  others.cached_share = 0;
  const Enough none = model.enough_cores(others);
  CHECK(none.kind == Enough::Kind::kNone);
  CHECK(none.why == "storage supplies too little for any number of cores");
  // 80 samples/s feed an accelerator of 82.5.
  others.cached_share = 0.5;
  CHECK(model.most_accelerator(others).amount == Approx(0.8 / 0.97));
  others.cached_share = 1;
  others.cores = 8;
  CHECK(model.enough_bandwidth(others).amount == 0);
}

TEST_CASE("ranks divide the node's cores and bandwidth") {
  Profile profile = simple_profile();
  profile.ranks = 2;
  const WhatIf model = model_of(profile);
  const Amounts four = shared_among(model.present(), 4);
  CHECK(four.ranks == 4);
  CHECK(four.cores == 1.5);
  CHECK(four.bandwidth_bytes_per_s == 2.5e5);
  CHECK(four.cached_share == 0.5);
  CHECK(rate(model, four) == Approx(50));
  // Six cores among one rank: 160. Nothing for a second one.
  CHECK(model.most_ranks(model.present()).amount == 1);
  profile.rate_at_cores = {97, 194, 291};
  profile.fetch_bytes_per_s = 5e6;
  CHECK(model_of(profile).most_ranks(model_of(profile).present()).amount == 6);
  profile.rate_at_cores = {10};
  const Enough none = model_of(profile).most_ranks(model_of(profile).present());
  CHECK(none.kind == Enough::Kind::kNone);
  CHECK(none.why == "data is the bottleneck of one rank alone");
}

TEST_CASE("values missing in the profile limit nothing and are not zero") {
  Profile profile;
  profile.name = "bare";
  profile.accelerator_s_per_sample = 0.01;
  const WhatIf bare = model_of(profile);
  const WhatIfPoint at = bare.at(bare.present());
  CHECK(at.samples_per_s.value == Approx(100));
  CHECK_FALSE(at.prep_samples_per_s);
  CHECK_FALSE(at.fetch_samples_per_s);
  CHECK_FALSE(bare.prep_known());
  CHECK_FALSE(bare.fetch_known());
  for (const Enough& enough :
       {bare.enough_cores(bare.present()), bare.enough_cache(bare.present()),
        bare.enough_bandwidth(bare.present()),
        bare.most_accelerator(bare.present()),
        bare.most_ranks(bare.present())}) {
    CHECK(enough.kind == Enough::Kind::kUnknown);
    CHECK_FALSE(enough.why.empty());
  }
  profile.loader_cpu_s_per_sample = 0.02;
  profile.bytes_per_sample = 1e4;
  const WhatIf costs = model_of(profile);
  CHECK_FALSE(costs.present().cores);
  CHECK(rate(costs, with_cores(costs.present(), 1)) == Approx(50));
  CHECK(costs.enough_cores(costs.present()).amount == Approx(1.94));
  CHECK_FALSE(costs.enough_cores(costs.present()).extrapolated);
  CHECK(costs.enough_cache(costs.present()).why ==
        "the profile has no fetch_bytes_per_s");
  CHECK(costs.enough_bandwidth(costs.present()).amount == Approx(9.7e5));
}

TEST_CASE("every built-in profile has a model") {
  for (const std::string& name : builtin_profile_names()) {
    CAPTURE(name);
    const WhatIf model = model_of(*builtin_profile(name));
    const WhatIfPoint at = model.at(model.present());
    CHECK(at.share_of_ceiling() == Approx(1));
    CHECK(at.bottleneck == Bottleneck::kCompute);
    CHECK_FALSE(at.fetch_samples_per_s);
    CHECK(model.enough_cores(model.present()).kind == Enough::Kind::kAmount);
    CHECK(model.enough_cache(model.present()).kind == Enough::Kind::kUnknown);
  }
}

TEST_CASE("a described job and an invalid profile are refused") {
  Profile profile;
  profile.name = "mine";
  profile.job.model = "resnet50";
  auto refused = WhatIf::from(profile);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK(refused.error().message ==
        "profile \"mine\" describes the job, not the costs of a sample; "
        "measure them with penstock analyze, or see penstock predict");
  refused = WhatIf::from(Profile{});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "accelerator_s_per_sample: must be over 0");
}

// 100 samples/s of one rank; 16 ranks exchange a bucket of 25 MiB for 49 ms
// densely, and the step of 16 samples takes 160 ms.
GradientExchange simple_exchange(double byte_s = 1e-9) {
  return {.parameters = 6'553'600,
          .batch = 16,
          .ranks = 16,
          .costs = {.byte_s = byte_s}};
}

TEST_CASE(
    "a density changes the ceiling and the rate that the loader must supply") {
  Profile profile = simple_profile();
  profile.rate_at_cores = {40, 70, 120};
  WhatIf model = model_of(profile);
  CHECK_FALSE(model.exchange_known());
  CHECK(model.most_density(model.present()).kind == Enough::Kind::kUnknown);
  REQUIRE(model.set_exchange(simple_exchange()));
  // The profile's ceiling is that of one rank.
  Amounts amounts = model.present();
  CHECK_FALSE(amounts.density);
  CHECK(model.at(amounts).ceiling_samples_per_s == Approx(100));
  CHECK_FALSE(model.at(amounts).step);

  const double dense_s = 2 * 15 / 16.0 * 4 * 6'553'600 * 1e-9;
  amounts.density = 1;
  const WhatIfPoint dense = model.at(amounts);
  REQUIRE(dense.step);
  CHECK(dense.step->stall_s() == Approx(dense_s));
  CHECK(dense.ceiling_samples_per_s == Approx(16 / (0.16 + dense_s)));
  amounts.density = 0.01;
  const WhatIfPoint sparse = model.at(amounts);
  CHECK(sparse.ceiling_samples_per_s == Approx(16 / (0.16 + 0.025 * dense_s)));
  Amounts before = amounts;
  before.density = 1;
  CHECK(model.enough_cores(amounts).amount >
        model.enough_cores(before).amount * 1.1);
  CHECK(model.enough_bandwidth(amounts).amount /
            model.enough_bandwidth(before).amount ==
        Approx(sparse.ceiling_samples_per_s / dense.ceiling_samples_per_s));
  // A faster accelerator does not change the exchange.
  amounts.accelerator_factor = 2;
  CHECK(model.at(amounts).ceiling_samples_per_s ==
        Approx(16 / (0.08 + 0.025 * dense_s)));
}

TEST_CASE("the highest density without a stall matches that by hand") {
  WhatIf model = model_of(simple_profile());
  REQUIRE(model.set_exchange(simple_exchange()));
  // 0.16 s / 0.97 leave 4.95 ms; density 1 would take 2.5 times the dense.
  const double dense_s = 2 * 15 / 16.0 * 4 * 6'553'600 * 1e-9;
  const Enough enough = model.most_density(model.present());
  REQUIRE(enough.kind == Enough::Kind::kAmount);
  CHECK(enough.amount == Approx(0.16 * (1 / 0.97 - 1) / (2.5 * dense_s)));
  REQUIRE(model.set_exchange(simple_exchange(1e-12)));
  CHECK(model.most_density(model.present()).amount == 1);
  GradientExchange slow = simple_exchange();
  slow.costs.select_s = 1e-6;
  slow.costs.message_s = 1;
  REQUIRE(model.set_exchange(slow));
  CHECK(model.most_density(model.present()).kind == Enough::Kind::kNone);
}

TEST_CASE("a ceiling measured with as many ranks has density 1") {
  Profile profile = simple_profile();
  profile.ranks = 8;
  profile.job.nodes = 2;
  WhatIf model = model_of(profile);
  REQUIRE(model.set_exchange(simple_exchange()));
  CHECK(model.present().density == 1);
  CHECK(model.at(model.present()).ceiling_samples_per_s == Approx(100));
  Amounts sparse = model.present();
  sparse.density = 0.01;
  CHECK(model.at(sparse).ceiling_samples_per_s > 130);
  // Its steps of 160 ms are shorter than an exchange of 490 ms.
  CHECK_FALSE(model.set_exchange(simple_exchange(1e-8)));
}

// Random valid amounts.
Amounts random_amounts(Random& random, const WhatIf& model,
                       const Profile& profile) {
  Amounts out = model.present();
  if (random.chance(0.8)) out.cores = random.scaled(0.05, 64);
  if (random.chance(0.7)) out.cached_share = random.real(0, 1);
  if (random.chance(0.7) && profile.fetch_bytes_per_s > 0)
    out.bandwidth_bytes_per_s =
        profile.fetch_bytes_per_s * random.scaled(0.01, 100);
  if (random.chance(0.5)) out.accelerator_factor = random.scaled(0.1, 10);
  return out;
}

CoresOf random_cores_of(Random& random) {
  return random.chance(0.5) ? CoresOf::kTask : CoresOf::kLoader;
}

TEST_CASE("more of any resource never makes a rank slower") {
  Random random("more of any resource never makes a rank slower");
  for (int i = 0; i < 2000; ++i) {
    const Profile profile = random_profile(random);
    const WhatIf model = model_of(profile, random_cores_of(random));
    const Amounts less = random_amounts(random, model, profile);
    Amounts more = less;
    const double factor = random.scaled(1, 4);
    switch (random.whole(0, 4)) {
      case 0:
        if (more.cores) *more.cores *= factor;
        break;
      case 1:
        more.cached_share += (1 - more.cached_share) * random.real(0, 1);
        break;
      case 2:
        if (more.bandwidth_bytes_per_s) *more.bandwidth_bytes_per_s *= factor;
        break;
      case 3:
        more.accelerator_factor *= factor;
        break;
      default:  // fewer ranks
        more.ranks = random.whole(1, 8);
        more = shared_among(more, 1);
    }
    INFO(profile_text(profile));
    REQUIRE(rate(model, more) >= rate(model, less) * (1 - 1e-9));
  }
}

TEST_CASE(
    "no rate exceeds a limit, and with sharp corners one limit is reached") {
  Random random("no rate exceeds a limit");
  for (int i = 0; i < 2000; ++i) {
    Profile profile = random_profile(random);
    const bool sharp = random.chance(0.5);
    if (sharp) profile.corner_ceiling = profile.corner_storage = 0;
    const WhatIf model = model_of(profile, random_cores_of(random));
    const WhatIfPoint at = model.at(random_amounts(random, model, profile));
    const double least = std::min({at.ceiling_samples_per_s,
                                   at.prep_samples_per_s.value_or(INFINITY),
                                   at.fetch_samples_per_s.value_or(INFINITY)});
    INFO(profile_text(profile));
    REQUIRE(at.samples_per_s.value <= least * (1 + 1e-9));
    REQUIRE(at.samples_per_s.value > 0);
    if (sharp) REQUIRE(at.samples_per_s.value == Approx(least).epsilon(1e-9));
    REQUIRE(at.samples_per_s.low <= at.samples_per_s.value);
    REQUIRE(at.samples_per_s.value <= at.samples_per_s.high);
  }
}

// Checks that data keep up with the amount and slightly more, not with slightly
// less.
template <class Set>
void check_smallest(const WhatIf& model, const Amounts& others,
                    const Enough& enough, Set set) {
  if (enough.kind == Enough::Kind::kUnknown) return;
  Amounts tried = others;
  if (enough.kind == Enough::Kind::kNone) {
    set(tried, INFINITY);
    REQUIRE(model.at(tried).bottleneck != Bottleneck::kCompute);
    return;
  }
  set(tried, enough.amount * (1 + 1e-6));
  REQUIRE(model.at(tried).bottleneck == Bottleneck::kCompute);
  if (enough.amount < 1e-6) return;
  set(tried, enough.amount * (1 - 1e-3));
  // On a slowly rising curve a thousandth less may differ only by rounding.
  REQUIRE(model.at(tried).share_of_ceiling() <= kDataKeepsUp);
}

TEST_CASE("the smallest amounts are sufficient, smaller ones are not") {
  Random random("the smallest amounts are sufficient");
  int amounts = 0;
  for (int i = 0; i < 2000; ++i) {
    const Profile profile = random_profile(random);
    const WhatIf model = model_of(profile, random_cores_of(random));
    const Amounts others = random_amounts(random, model, profile);
    INFO(profile_text(profile));
    const Enough cores = model.enough_cores(others);
    check_smallest(model, others, cores, [](Amounts& it, double value) {
      it.cores = std::min(value, 1e9);
    });
    const Enough cache = model.enough_cache(others);
    check_smallest(model, others, cache, [](Amounts& it, double value) {
      it.cached_share = std::min(value, 1.0);
    });
    const Enough bandwidth = model.enough_bandwidth(others);
    check_smallest(model, others, bandwidth, [](Amounts& it, double value) {
      it.bandwidth_bytes_per_s = std::min(value, 1e30);
    });
    amounts += cores.kind == Enough::Kind::kAmount;
    amounts += cache.kind == Enough::Kind::kAmount;
    amounts += bandwidth.kind == Enough::Kind::kAmount;
  }
  CHECK(amounts > 1000);  // of 6000
}

TEST_CASE(
    "the largest accelerator and most ranks are fed, larger ones are not") {
  Random random("the largest accelerator and most ranks are fed");
  for (int i = 0; i < 500; ++i) {
    const Profile profile = random_profile(random);
    const WhatIf model = model_of(profile);
    Amounts others = random_amounts(random, model, profile);
    INFO(profile_text(profile));
    const Enough ranks = model.most_ranks(others);
    if (ranks.kind == Enough::Kind::kAmount) {
      const int most = static_cast<int>(ranks.amount);
      REQUIRE(model.at(shared_among(others, most)).bottleneck ==
              Bottleneck::kCompute);
      if (most < WhatIf::kMostRanks)
        REQUIRE(model.at(shared_among(others, most + 1)).bottleneck !=
                Bottleneck::kCompute);
    }
    const Enough faster = model.most_accelerator(others);
    if (faster.kind != Enough::Kind::kAmount) continue;
    others.accelerator_factor = faster.amount * (1 - 1e-6);
    REQUIRE(model.at(others).bottleneck == Bottleneck::kCompute);
    others.accelerator_factor = faster.amount * (1 + 1e-6);
    REQUIRE(model.at(others).bottleneck != Bottleneck::kCompute);
  }
}

}  // namespace
}  // namespace penstock
