// penstock-train's parts.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "loader/pipeline/thread_choice.h"
#include "loader/train/accelerator.h"
#include "loader/train/summary.h"
#include "loader/train/train_options.h"
#include "loader/train/trainer.h"
#include "tests/unit/catch.h"

using penstock::EmulatedAccelerator;
using penstock::Summary;
using penstock::TrainOptions;
using penstock::WaitMode;

namespace {

struct Parsed {
  bool run = false;
  int exit_code = 0;
  TrainOptions options;
};

Parsed parse(std::vector<std::string> words) {
  std::vector<char*> argv;
  words.insert(words.begin(), "penstock-train");
  for (std::string& word : words) argv.push_back(word.data());
  Parsed parsed;
  parsed.run =
      penstock::parse_train_options(static_cast<int>(argv.size()), argv.data(),
                                    parsed.options, parsed.exit_code);
  return parsed;
}

Summary example() {
  Summary summary;
  summary.seconds = 10;
  summary.samples = 1000;
  summary.steps = 10;
  summary.wait_s = 2.5;
  summary.step_s = 7.5;
  summary.trainer_cpu_s = 0.5;
  summary.loader.prepared = 1250;
  summary.loader.bytes = 125000;
  summary.loader.cpu_ns = 5000000000;
  summary.ended_by = "end";
  return summary;
}

}  // namespace

TEST_CASE("the command line sets all options") {
  const Parsed parsed = parse({"--data",   "/d",
                               "/e",       "--record-bytes",
                               "3073",     "--label-bytes",
                               "1",        "--header-bytes",
                               "16",       "--batch",
                               "16",       "--threads",
                               "3",        "--accelerator-s-per-sample",
                               "0.01",     "--wait",
                               "spin",     "--trainer-cpu",
                               "1.5",      "--duration",
                               "2.5",      "--replay",
                               "--direct", "--crop",
                               "64",       "--seed",
                               "9",        "--log",
                               "l",        "--json",
                               "j",        "--write-profile",
                               "p"});
  REQUIRE(parsed.run);
  CHECK(parsed.options.data == std::vector<std::string>{"/d", "/e"});
  REQUIRE(parsed.options.records);
  CHECK(parsed.options.records->record_bytes == 3073);
  CHECK(parsed.options.records->label_bytes == 1);
  CHECK(parsed.options.records->header_bytes == 16);
  CHECK(parsed.options.batch == 16);
  CHECK(parsed.options.threads == 3);
  CHECK(parsed.options.accelerator_s_per_sample == 0.01);
  CHECK(parsed.options.wait == WaitMode::kSpin);
  CHECK(parsed.options.trainer_cpu_ms == 1.5);
  CHECK(parsed.options.duration_s == 2.5);
  CHECK(parsed.options.epochs == 0);
  CHECK(parsed.options.replay);
  CHECK(parsed.options.direct);
}

TEST_CASE("defaults: one epoch, auto threads") {
  const Parsed parsed = parse({"--data", "/d", "--threads", "auto"});
  REQUIRE(parsed.run);
  CHECK(parsed.options.epochs == 1);
  CHECK(parsed.options.threads == 0);
  CHECK_FALSE(parsed.options.records);
}

TEST_CASE("--cache-peers requires --cache") {
  CHECK(parse({"--data", "/d"}).options.cache_peers.empty());
  const Parsed peers =
      parse({"--data", "/d", "--cache", "auto", "--cache-peers", "n[1-2],m"});
  CHECK(peers.options.cache_peers == "n[1-2],m");
  CHECK_FALSE(parse({"--data", "/d", "--cache-peers", "auto"}).run);
}

TEST_CASE("--cache requests a cache of the given size") {
  CHECK_FALSE(parse({"--data", "/d"}).options.cache);
  const Parsed automatic = parse({"--data", "/d", "--cache", "auto"});
  REQUIRE(automatic.run);
  REQUIRE(automatic.options.cache);
  CHECK(automatic.options.cache->most_bytes == 0);
  CHECK(automatic.options.cache->name.empty());
  CHECK(automatic.options.cache->keep_s == 0);
  const Parsed named = parse({"--data", "/d", "--cache-keep", "60",
                              "--cache-name", "mine", "--cache", "1.5G"});
  REQUIRE(named.run);
  REQUIRE(named.options.cache);
  CHECK(named.options.cache->most_bytes == 3ULL << 29);
  CHECK(named.options.cache->name == "mine");
  CHECK(named.options.cache->keep_s == 60);
  CHECK_FALSE(named.options.cache->group);
}

TEST_CASE("--cache-group accepts a group's name or number") {
  for (const char* group : {"root", "0"}) {
    const Parsed parsed =
        parse({"--data", "/d", "--cache", "1G", "--cache-group", group});
    REQUIRE(parsed.run);
    CHECK(parsed.options.cache->group == gid_t{0});
  }
}

TEST_CASE("a bad command line exits with 2") {
  const auto words =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"--data"},
               std::vector<std::string>{"--data", "/d", "--label-bytes", "1"},
               std::vector<std::string>{"--data", "/d", "--header-bytes", "1"},
               std::vector<std::string>{"--data", "/d", "--record-bytes", "x"},
               std::vector<std::string>{"--data", "/d", "--batch", "0"},
               std::vector<std::string>{"--data", "/d", "--threads", "some"},
               std::vector<std::string>{"--data", "/d", "--threads", "4097"},
               std::vector<std::string>{"--data", "/d", "--wait", "doze"},
               std::vector<std::string>{"--data", "/d", "--duration", "-1"},
               std::vector<std::string>{"--data", "/d", "--samples", "0"},
               std::vector<std::string>{"--data", "/d", "--samples", "1",
                                        "--epochs", "1"},
               std::vector<std::string>{"--data", "/d", "--cache", "most"},
               std::vector<std::string>{"--data", "/d", "--cache", "0"},
               std::vector<std::string>{"--data", "/d", "--cache-name", "n"},
               std::vector<std::string>{"--data", "/d", "--cache-keep", "1"},
               std::vector<std::string>{"--data", "/d", "--cache", "1G",
                                        "--cache-keep", "604801"},
               std::vector<std::string>{"--data", "/d", "--cache", "1M/s"},
               std::vector<std::string>{"--data", "/d", "--cache", "1G",
                                        "--cache-name", ""},
               std::vector<std::string>{"--data", "/d", "--cache-group", "0"},
               std::vector<std::string>{"--data", "/d", "--cache", "1G",
                                        "--cache-group", ""},
               std::vector<std::string>{"--data", "/d", "--cache", "1G",
                                        "--cache-group", "4294967295"},
               std::vector<std::string>{"--data", "/d", "--unknown"});
  const Parsed parsed = parse(words);
  CHECK_FALSE(parsed.run);
  CHECK(parsed.exit_code == 2);
}

TEST_CASE(
    "auto threads are Slurm's CPUs of the task, at most those of the "
    "affinity") {
  using penstock::entitled_threads;
  CHECK(entitled_threads(nullptr, 4) == 4);
  CHECK(entitled_threads("2", 4) == 2);
  CHECK(entitled_threads("8", 4) == 4);
  CHECK(entitled_threads("x", 4) == 4);
  CHECK(entitled_threads("", 4) == 4);
  CHECK(entitled_threads("0", 4) == 4);
  CHECK(entitled_threads(nullptr, 0) == 1);
}

TEST_CASE("a report sets follows_hint with auto threads only") {
  penstock::TrainProgress progress;
  progress.samples = 64;
  progress.steps = 2;
  progress.exchange_ns = 7;
  const penstock::LoaderCounters loader{.prepared = 96, .threads = 3};
  const auto reported = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--data", "/d"});
    return penstock::progress_report(parse(words).options, progress, loader);
  };
  CHECK(reported({}).follows_hint == 1);
  CHECK(reported({"--threads", "auto"}).follows_hint == 1);
  const penstock_progress fixed = reported({"--threads", "3"});
  CHECK(fixed.follows_hint == 0);
  CHECK(fixed.loader_threads == 3);
  CHECK(fixed.samples == 64);
  CHECK(fixed.steps == 2);
  CHECK(fixed.prepared == 96);
  CHECK(fixed.exchange_ns == 7);
}

TEST_CASE("a step lasts its set time and uses its set CPU time") {
  const WaitMode wait = GENERATE(WaitMode::kSleep, WaitMode::kSpin);
  EmulatedAccelerator accelerator(0.005, wait, 4);
  const std::atomic<bool> stop{false};
  const uint64_t begin_ns = penstock::monotonic_ns();
  const uint64_t cpu_ns = penstock::thread_cpu_ns();
  accelerator.step(begin_ns, 4, stop);
  CHECK(penstock::monotonic_ns() - begin_ns >= 20000000);
  CHECK(penstock::thread_cpu_ns() - cpu_ns >= 4000000);
  if (wait == WaitMode::kSleep) {
    CHECK(penstock::thread_cpu_ns() - cpu_ns < 15000000);
  }
}

TEST_CASE("a step whose deadline has passed does not wait") {
  EmulatedAccelerator accelerator(1, WaitMode::kSleep, 0);
  const std::atomic<bool> stop{false};
  const uint64_t begin_ns = penstock::monotonic_ns();
  accelerator.step(begin_ns - 2000000000, 1, stop);
  CHECK(penstock::monotonic_ns() - begin_ns < 500000000);
}

TEST_CASE("a stop request ends a step early") {
  EmulatedAccelerator accelerator(60, WaitMode::kSpin, 1000);
  const std::atomic<bool> stop{true};
  const uint64_t begin_ns = penstock::monotonic_ns();
  accelerator.step(begin_ns, 1, stop);
  CHECK(penstock::monotonic_ns() - begin_ns < 500000000);
}

TEST_CASE("the summary's figures follow from the counters") {
  const Summary summary = example();
  CHECK(summary.rate_samples_per_s() == Approx(100));
  CHECK(summary.wait_share() == Approx(0.25));
  CHECK(summary.cpu_s_per_sample() == Approx(0.004));
  CHECK(summary.bytes_per_sample() == Approx(100));
  CHECK(summary.step_s_per_sample() == Approx(0.0075));
  CHECK(Summary{}.rate_samples_per_s() == 0);
}

TEST_CASE("every output says that the accelerator is emulated") {
  TrainOptions options;
  options.data = {"/d", "/e"};
  options.profile_path = "/some/where/alexnet.toml";
  const Summary summary = example();
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(penstock::summary_text(options, summary),
             ContainsSubstring("emulated"));
  const auto json = nlohmann::json::parse(
      penstock::summary_json(options, summary), nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK(json["accelerator"] == "emulated");
  CHECK(json["data"] == std::vector<std::string>{"/d", "/e"});
  CHECK(json["wait_share"] == 0.25);
  CHECK(json["loader_cpu_s"] == 5.0);
  auto profile = penstock::summary_profile(options, summary);
  REQUIRE(profile);
  CHECK_THAT(*profile,
             ContainsSubstring("emulated") &&
                 ContainsSubstring("name = \"alexnet\"") &&
                 ContainsSubstring("accelerator_s_per_sample = 0.007500000") &&
                 ContainsSubstring("loader_cpu_s_per_sample = 0.004000000") &&
                 ContainsSubstring("trainer_cpu_s_per_sample = 0.000500000") &&
                 ContainsSubstring("bytes_per_sample = 100.0"));
}

TEST_CASE("the outputs report samples and bytes from the cache") {
  TrainOptions options;
  Summary summary = example();
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(penstock::summary_text(options, summary),
             !ContainsSubstring("cache"));
  options.cache.emplace();
  summary.loader.cached = 1000;
  summary.loader.cached_bytes = 100 << 20;
  CHECK_THAT(penstock::summary_text(options, summary),
             ContainsSubstring("cache: 1000 of its samples (0.800), 100 MB\n"));
  const auto json =
      nlohmann::json::parse(penstock::summary_json(options, summary));
  CHECK(json["schema_version"] == 2);
  CHECK(json["cached"] == 1000);
  CHECK(json["cached_bytes"] == 100 << 20);
}

TEST_CASE(
    "shares are named by option or environment and require whole epochs") {
  const Parsed none = parse({"--data", "/d"});
  CHECK(none.options.share.empty());
  const Parsed shares =
      parse({"--data", "/d", "--loader-share", "search", "--share-jobs", "8",
             "--share-window", "16", "--epochs", "2"});
  REQUIRE(shares.run);
  CHECK(shares.options.share == "search");
  CHECK(shares.options.share_jobs == 8);
  CHECK(shares.options.share_window == 16);
  ::setenv("PENSTOCK_LOADER_SHARE", "from-srun", 1);
  CHECK(parse({"--data", "/d"}).options.share == "from-srun");
  CHECK(parse({"--data", "/d", "--loader-share", "own"}).options.share ==
        "own");
  CHECK(parse({"--data", "/d", "--samples", "5"}).exit_code == 2);
  ::unsetenv("PENSTOCK_LOADER_SHARE");
  for (const char* name : {"", ".x", "a/b"}) {
    CHECK(parse({"--data", "/d", "--loader-share", name}).exit_code == 2);
  }
  CHECK(parse({"--data", "/d", "--loader-share", "x", "--replay"}).exit_code ==
        2);
  CHECK(parse({"--data", "/d", "--share-jobs", "65"}).exit_code == 2);
  CHECK(parse({"--data", "/d", "--share-window", "1"}).exit_code == 2);
}

TEST_CASE("the outputs report the share's batches") {
  TrainOptions options;
  Summary summary = example();
  CHECK_FALSE(nlohmann::json::parse(penstock::summary_json(options, summary))
                  .contains("share"));
  options.share = "search";
  summary.share = {
      .used_batches = 30, .lost_claims = 1, .times_out = 2, .alone_batches = 3};
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(penstock::summary_text(options, summary),
             ContainsSubstring("share search: 30 batches used, 1250 samples "
                               "prepared here; alone for 3 batches, 1 prepared "
                               "in vain\n"));
  const auto share =
      nlohmann::json::parse(penstock::summary_json(options, summary))["share"];
  CHECK(share["name"] == "search");
  CHECK(share["used_batches"] == 30);
  CHECK(share["lost_claims"] == 1);
  CHECK(share["times_out"] == 2);
  CHECK(share["alone_batches"] == 3);
}

TEST_CASE("a run without a step writes no profile") {
  const TrainOptions options;
  CHECK_FALSE(penstock::summary_profile(options, Summary{}));
}

TEST_CASE("a failed write is an error with the file's name") {
  auto written = penstock::write_text_file("/nonexistent/x", "text");
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error().message,
             Catch::Matchers::ContainsSubstring("/nonexistent/x"));
  CHECK_FALSE(penstock::write_text_file("/dev/full", "text"));
}
