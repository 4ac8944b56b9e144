#include "predictor/profile.h"

#include <algorithm>
#include <string>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

const char* const kToml =
    "# measured on n1\n"
    "name = \"mine\"\n"
    "accelerator_s_per_sample = 0.002\n"
    "loader_cpu_s_per_sample = 8e-3\n"
    "trainer_cpu_s_per_sample = 0.0001\n"
    "bytes_per_sample = 110000\n"
    "cached_share = 0.25\n"
    "pool = \"scratch\"\n"
    "relative_error = 0.1\n"
    "rate_at_cores = [100, 190.5, 270]\n"
    "cores = [0.25, 0.75, 2]\n"
    "fetch_bytes_per_s = 2e8\nmemory_bytes_per_s = 3e9\n"
    "dataset_bytes = 1.5e11\ndataset_samples = 1281167\n"
    "cache_bytes = 5e10\nloader_threads = 6\nranks = 2\n"
    "corner_ceiling = 7.5\ncorner_storage = 0\n";

const char* const kJson =
    " {\"name\": \"mine\", \"accelerator_s_per_sample\": 0.002,"
    "\"loader_cpu_s_per_sample\": 8e-3, \"trainer_cpu_s_per_sample\": 0.0001,"
    "\"bytes_per_sample\": 110000, \"cached_share\": 0.25,"
    "\"pool\": \"scratch\", \"relative_error\": 0.1,"
    "\"rate_at_cores\": [100, 190.5, 270], \"cores\": [0.25, 0.75, 2],"
    "\"fetch_bytes_per_s\": 2e8, \"memory_bytes_per_s\": 3e9,"
    "\"dataset_bytes\": 1.5e11, \"dataset_samples\": 1281167,"
    "\"cache_bytes\": 5e10, \"loader_threads\": 6, \"ranks\": 2,"
    "\"corner_ceiling\": 7.5, \"corner_storage\": 0}\n";

std::string refused(const std::string& text) {
  const auto profile = parse_profile(text, "p.toml");
  INFO(text);
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == Code::kInvalidArgument);
  return profile.error().message;
}

TEST_CASE("TOML and JSON give the same profile") {
  for (const char* text : {kToml, kJson}) {
    const auto profile = parse_profile(text, "p.toml");
    REQUIRE(profile);
    CHECK(profile->name == "mine");
    CHECK(profile->accelerator_s_per_sample == 0.002);
    CHECK(profile->loader_cpu_s_per_sample == 0.008);
    CHECK(profile->trainer_cpu_s_per_sample == 0.0001);
    CHECK(profile->bytes_per_sample == 110000);
    CHECK(profile->cached_share == 0.25);
    CHECK(profile->pool == "scratch");
    CHECK(profile->relative_error == 0.1);
    CHECK(profile->rate_at_cores == std::vector<double>{100, 190.5, 270});
    CHECK(profile->cores == std::vector<double>{0.25, 0.75, 2});
    CHECK(profile->fetch_bytes_per_s == 2e8);
    CHECK(profile->memory_bytes_per_s == 3e9);
    CHECK(profile->dataset_bytes == 1.5e11);
    CHECK(profile->dataset_samples == 1281167);
    CHECK(profile->cache_bytes == 5e10);
    CHECK(profile->loader_threads == 6);
    CHECK(profile->ranks == 2);
    CHECK(profile->corner_ceiling == 7.5);
    CHECK(profile->corner_storage == 0);
  }
}

TEST_CASE("one key is sufficient, and the name defaults to the file's") {
  for (const char* text :
       {"accelerator_s_per_sample = 1", "{\"accelerator_s_per_sample\": 1}"}) {
    const auto profile = parse_profile(text, "p.toml");
    REQUIRE(profile);
    CHECK(profile->name == "p.toml");
    CHECK(profile->relative_error == 0.25);
    CHECK(profile->rate_at_cores.empty());
    CHECK(profile->cores.empty());
    CHECK(profile->fetch_bytes_per_s == 0);
    CHECK(profile->loader_threads == 0);
    CHECK(profile->ranks == 1);
    CHECK(profile->corner_ceiling == 0);
  }
}

TEST_CASE("bad keys and values are refused by name in both forms") {
  struct Row {
    const char* key;
    const char* toml;
    const char* json;
  };
  const Row rows[] = {
      {"accelerator_s_per_sample", "0", "0"},
      {"accelerator_s_per_sample", "-1", "-1"},
      {"accelerator_s_per_sample", "inf", "1e999"},
      {"accelerator_s_per_sample", "nan", "null"},
      {"accelerator_s_per_sample", "\"1\"", "\"1\""},
      {"accelerator_s_per_sample", "true", "true"},
      {"accelerator_s_per_sample", "[1]", "[1]"},
      {"loader_cpu_s_per_sample", "-0.1", "-0.1"},
      {"bytes_per_sample", "1e16", "1e16"},
      {"cached_share", "1.1", "1.1"},
      {"relative_error", "1", "1"},
      {"pool", "1", "1"},
      {"pool", "\"\"", "\"\""},
      {"name", "\"a\\nb\"", "\"a\\nb\""},
      {"rate_at_cores", "1", "1"},
      {"rate_at_cores", "[]", "[]"},
      {"rate_at_cores", "[0]", "[0]"},
      {"rate_at_cores", "[\"1\"]", "[\"1\"]"},
      {"rate_at_cores", "[[1]]", "[[1]]"},
      {"cores", "1", "1"},
      {"cores", "[0]", "[0]"},
      {"cores", "[4097]", "[4097]"},
      {"fetch_bytes_per_s", "-1", "-1"},
      {"memory_bytes_per_s", "1e16", "1e16"},
      {"dataset_bytes", "2e18", "2e18"},
      {"dataset_samples", "\"all\"", "\"all\""},
      {"cache_bytes", "nan", "null"},
      {"loader_threads", "1.5", "1.5"},
      {"loader_threads", "-1", "-1"},
      {"ranks", "0", "0"},
      {"ranks", "2.5", "2.5"},
      {"corner_ceiling", "0.5", "0.5"},
      {"corner_ceiling", "65", "65"},
      {"corner_storage", "-1", "-1"},
      {"colour", "1", "1"},
  };
  for (const Row& row : rows) {
    const std::string key = row.key;
    const std::string toml = refused(key + " = " + row.toml);
    CHECK(toml.starts_with("p.toml: " + key + ": "));
    CHECK(toml.find("allowed: ") != std::string::npos);
    const std::string json = refused("{\"" + key + "\": " + row.json + "}");
    // The JSON parser refuses values outside JSON before a key is known.
    if (std::string(row.json) != "1e999")
      CHECK(json.starts_with("p.toml: " + key + ": "));
  }
}

TEST_CASE("a missing accelerator time is refused") {
  CHECK(refused("").find("accelerator_s_per_sample: missing") !=
        std::string::npos);
  CHECK(refused("{}").find("accelerator_s_per_sample: missing") !=
        std::string::npos);
}

TEST_CASE("a profile may describe the job instead of its speed") {
  const auto profile = parse_profile(
      "model = \"resnet50\"\nprecision = \"AMP\"\nbatch = 128\nnodes = 2\n"
      "gpu = \"V100-SXM-16GB\"\nbytes_per_sample = 110e3\n"
      "cpu_class = \"jpeg\"\nnetwork_gbs = 12.5\nparams_m = 25.6\n"
      "fwd_gflops_per_sample = 8.2\nactivations_m = 11.1\n",
      "p.toml");
  INFO((profile ? "" : profile.error().message));
  REQUIRE(profile);
  CHECK(profile->describes_job());
  CHECK(profile->job.model == "resnet50");
  CHECK(profile->job.precision == Precision::kHalf);
  CHECK(profile->job.batch_per_gpu == 128);
  CHECK(profile->job.nodes == 2);
  CHECK(profile->job.network_gbs == 12.5);
  CHECK(profile->cpu_class == "jpeg");
  CHECK_FALSE(
      parse_profile("accelerator_s_per_sample = 1", "p")->describes_job());
}

TEST_CASE("incompatible keys of a description are refused") {
  const std::string model = "model = \"resnet50\"\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {model + "accelerator_s_per_sample = 1", "allowed: one of them"},
      {model + "rate_at_cores = [1]", "rate_at_cores: not valid with model"},
      {model + "cpu_class = \"jpeg\"", "cpu_class: needs bytes_per_sample"},
      {model + "cpu_class = \"png\"\nbytes_per_sample = 1",
       "cpu_class: unknown class; allowed: raw, jpeg"},
      {model + "cpu_class = \"raw\"\nloader_cpu_s_per_sample = 1",
       "cpu_class: not valid with loader_cpu_s_per_sample"},
      {model + "gpu = \"abacus\"", "gpu: \"abacus\" is unknown"},
      {model + "nodes = 1.5", "nodes: not valid; allowed: a whole number"},
      {model + "precision = \"fuzzy\"", "precision: not valid; allowed: "},
      {model + "batch = 0", "batch: not valid; allowed: a number from 1"},
  };
  for (const auto& it : cases) {
    const std::string message = refused(it.text);
    INFO(message);
    CHECK(message.starts_with("p.toml: "));
    CHECK(message.find(it.message) != std::string::npos);
  }
}

TEST_CASE("a curve's cores must ascend and be as many as its rates") {
  const std::string begin = "accelerator_s_per_sample = 1\n";
  CHECK(refused(begin + "cores = [1, 2]\nrate_at_cores = [1]") ==
        "p.toml: cores: holds 2 amounts and rate_at_cores 1 rates; allowed: "
        "as many of one as of the other");
  CHECK(refused(begin + "cores = [1, 2]").find("rate_at_cores 0 rates") !=
        std::string::npos);
  for (const char* cores : {"[1, 1]", "[2, 1.5]"})
    CHECK(refused(begin + "rate_at_cores = [1, 2]\ncores = " + cores)
              .find("allowed: each more than the one before") !=
          std::string::npos);
}

TEST_CASE("integers that a double cannot represent exactly are rounded") {
  for (const char* text :
       {"accelerator_s_per_sample = 1\ndataset_bytes = 9007199254740993",
        "{\"accelerator_s_per_sample\": 1,"
        "\"dataset_bytes\": 9007199254740993}"}) {
    const auto profile = parse_profile(text, "p");
    REQUIRE(profile);
    CHECK(profile->dataset_bytes == 9007199254740992);
  }
}

TEST_CASE("syntax errors name file and line") {
  CHECK(refused("name = \"x\"\nbytes_per_sample = = 1\n")
            .starts_with("p.toml:2: "));
  CHECK(refused("{\"name\": ").starts_with("p.toml: "));
  CHECK(refused("{} {}").starts_with("p.toml: "));
  CHECK(refused("[1]\n").starts_with("p.toml"));
}

TEST_CASE("duplicate keys are refused in both forms") {
  CHECK(refused("bytes_per_sample = 1\nbytes_per_sample = 2")
            .starts_with("p.toml:2: "));
  CHECK(refused("{\"pool\": \"a\", \"pool\": \"b\"}") ==
        "p.toml: pool: given twice; allowed: once");
}

TEST_CASE("malicious files are refused") {
  CHECK(refused(std::string(65537, ' ')).find("over 64 KiB") !=
        std::string::npos);
  // Deep nesting must not overflow the stack.
  CHECK_FALSE(parse_profile("a = " + std::string(60000, '['), "p"));
  CHECK_FALSE(parse_profile("{\"a\":" + std::string(60000, '['), "p"));
  CHECK_FALSE(parse_profile(
      "{\"a\":" + std::string(30000, '[') + std::string(30000, ']') + "}",
      "p"));
  // These reach toml++'s assertions.
  CHECK(refused("pool = \"x\"\n [, 2]").find("not TOML") != std::string::npos);
  CHECK(refused("pool = [}").find("not TOML") != std::string::npos);
  CHECK(refused("[pool]").find("wrong type") != std::string::npos);
  CHECK(refused(std::string("[\0\0\0= {", 7)).find("outside printable") !=
        std::string::npos);
  CHECK_FALSE(parse_profile("name = \"\xff\xfe\"", "p"));
  CHECK_FALSE(parse_profile("{\"\xff\": 1}", "p"));
  std::string points = "rate_at_cores = [1";
  for (int i = 0; i < 256; ++i) points += ",1";
  CHECK(refused(points + "]").find("1 to 256 rates") != std::string::npos);
}

TEST_CASE("the built-in table has its source's figures") {
  // Synergy: alexnet, 512 samples in 0.6 s with 3 cores; 2.94 times that with
  // 12; 0.3 times with one.
  const auto alexnet = builtin_profile("alexnet");
  REQUIRE(alexnet);
  CHECK(1 / alexnet->accelerator_s_per_sample ==
        Approx(512 / 0.6 * 2.94).epsilon(1e-12));
  REQUIRE(alexnet->rate_at_cores.size() == 12);
  CHECK(alexnet->rate_at_cores[0] == Approx(512 / 0.6 * 0.3));
  CHECK(alexnet->rate_at_cores[2] == Approx(512 / 0.6));
  // The source skips 7 and 8 cores: on the line from 6 to 9.
  CHECK(alexnet->rate_at_cores[6] ==
        Approx(512 / 0.6 * (1.75 + (2 - 1.75) / 3)));

  const auto transformer = builtin_profile("transformer");
  REQUIRE(transformer);
  CHECK(transformer->rate_at_cores.size() == 1);
  CHECK(1 / transformer->accelerator_s_per_sample == Approx(128 / 0.67));
}

TEST_CASE("every built-in profile is consistent and has a large error") {
  const auto names = builtin_profile_names();
  CHECK(names.size() == 10);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto profile = builtin_profile(name);
    REQUIRE(profile);
    CHECK(profile->name == name);
    CHECK(std::is_sorted(profile->rate_at_cores.begin(),
                         profile->rate_at_cores.end()));
    CHECK(profile->rate_at_cores.back() ==
          Approx(1 / profile->accelerator_s_per_sample));
    CHECK(profile->relative_error > 0.5);
    CHECK(profile->bytes_per_sample == 0);
  }
}

TEST_CASE("an unknown name lists the known ones") {
  const auto none = builtin_profile("alexnett");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
  CHECK(none.error().message.find("alexnet, deepspeech, gnmt") !=
        std::string::npos);
}

}  // namespace
}  // namespace penstock
