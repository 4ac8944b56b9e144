#include "tests/unit/catch.h"
#include "tests/unit/predictor/random_profile.h"

namespace penstock {
namespace {

void check_same(const Profile& a, const Profile& b) {
  CHECK(a.name == b.name);
  CHECK(a.accelerator_s_per_sample == b.accelerator_s_per_sample);
  CHECK(a.loader_cpu_s_per_sample == b.loader_cpu_s_per_sample);
  CHECK(a.trainer_cpu_s_per_sample == b.trainer_cpu_s_per_sample);
  CHECK(a.bytes_per_sample == b.bytes_per_sample);
  CHECK(a.cached_share == b.cached_share);
  CHECK(a.pool == b.pool);
  CHECK(a.relative_error == b.relative_error);
  CHECK(a.rate_at_cores == b.rate_at_cores);
  CHECK(a.cores == b.cores);
  CHECK(a.fetch_bytes_per_s == b.fetch_bytes_per_s);
  CHECK(a.memory_bytes_per_s == b.memory_bytes_per_s);
  CHECK(a.dataset_bytes == b.dataset_bytes);
  CHECK(a.dataset_samples == b.dataset_samples);
  CHECK(a.cache_bytes == b.cache_bytes);
  CHECK(a.loader_threads == b.loader_threads);
  CHECK(a.ranks == b.ranks);
  CHECK(a.corner_ceiling == b.corner_ceiling);
  CHECK(a.corner_storage == b.corner_storage);
  CHECK(a.cpu_class == b.cpu_class);
  CHECK(a.job.model == b.job.model);
  CHECK(a.job.gpu == b.job.gpu);
  CHECK(a.job.nodes == b.job.nodes);
  CHECK(a.job.precision == b.job.precision);
  CHECK(a.job.batch_per_gpu == b.job.batch_per_gpu);
  CHECK(a.job.params_m == b.job.params_m);
  CHECK(a.job.fwd_gflops_per_sample == b.job.fwd_gflops_per_sample);
  CHECK(a.job.activations_m == b.job.activations_m);
  CHECK(a.job.network_gbs == b.job.network_gbs);
}

Profile read_back(const Profile& profile) {
  const std::string text = profile_text(profile);
  const auto again = parse_profile(text, "p.toml");
  INFO(text << (again ? "" : again.error().message));
  REQUIRE(again);
  return *again;
}

TEST_CASE("a written profile reads back the same") {
  Random random("a written profile reads back");
  for (int i = 0; i < 500; ++i) {
    const Profile profile = random_profile(random);
    check_same(read_back(profile), profile);
  }
}

TEST_CASE("a described job reads back the same") {
  for (const char* precision : {"FP32", "TF32", "BF16"}) {
    const auto profile = parse_profile(
        "model = \"resnet50\"\nprecision = \"" + std::string(precision) +
            "\"\nbatch = 128\nnodes = 2\ngpu = \"V100-SXM-16GB\"\n"
            "pool = \"a\\\"b\\\\c\"\nbytes_per_sample = 110e3\n"
            "cpu_class = \"jpeg\"\nnetwork_gbs = 12.5\nparams_m = 25.6\n"
            "fwd_gflops_per_sample = 8.2\nactivations_m = 11.1\n",
        "p.toml");
    REQUIRE(profile);
    check_same(read_back(*profile), *profile);
  }
}

TEST_CASE("only values that are not defaults are written") {
  Profile profile;
  profile.name = "least";
  profile.accelerator_s_per_sample = 0.5;
  CHECK(profile_text(profile) ==
        "name = \"least\"\naccelerator_s_per_sample = 0.5\n");
  profile.cores = {0.25, 1};
  profile.rate_at_cores = {10, 30};
  profile.ranks = 2;
  CHECK(profile_text(profile) ==
        "name = \"least\"\naccelerator_s_per_sample = 0.5\n"
        "rate_at_cores = [10, 30]\ncores = [0.25, 1]\nranks = 2\n");
}

TEST_CASE("a file name that is too long for a profile's name is truncated") {
  const auto profile = parse_profile("accelerator_s_per_sample = 1",
                                     std::string(100, 'x') + ".toml");
  REQUIRE(profile);
  CHECK(read_back(*profile).name == std::string(64, 'x'));
}

}  // namespace
}  // namespace penstock
