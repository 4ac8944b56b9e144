#include "common/mode_rules.h"

#include <cmath>

#include "common/config.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::vector<ModeRule> rules(const std::string& text) {
  const Result<Config> config = parse_config(text, "p.conf");
  INFO(text);
  REQUIRE(config);
  return config->modes;
}

std::string refused(const std::string& text) {
  const Result<Config> config = parse_config(text, "p.conf");
  INFO(text);
  REQUIRE_FALSE(config);
  return config.error().message;
}

ModeSubject job(uint32_t id, const char* node = "n1",
                const char* partition = "gpu", const char* account = "bio") {
  return {node, partition, account, id};
}

bool observes(const std::string& text, const ModeSubject& subject) {
  return mode_of(rules(text), subject) == Mode::kObserve;
}

}  // namespace

TEST_CASE("without a Mode line, Penstock is on for every job") {
  CHECK(mode_of({}, job(1)) == Mode::kOn);
}

TEST_CASE("a Mode line without lists is for every job") {
  CHECK(observes("Mode=observe", job(1)));
  CHECK(observes("mode=Observe", job(1)));
  CHECK_FALSE(observes("Mode=on", job(1)));
}

TEST_CASE("the last Mode line for a job decides") {
  const std::string text =
      "Mode=observe\nMode=on Partitions=gpu,test\nMode=observe Nodes=n[2-3]\n";
  CHECK_FALSE(observes(text, job(1, "n1", "gpu")));
  CHECK_FALSE(observes(text, job(1, "n1", "test")));
  CHECK(observes(text, job(1, "n1", "cpu")));
  CHECK(observes(text, job(1, "n2", "gpu")));
}

TEST_CASE("all lists of a Mode line have to name the job") {
  const std::string text =
      "Mode=observe Nodes=n1 Partitions=gpu Accounts=bio,chem";
  CHECK(observes(text, job(1)));
  CHECK(observes(text, job(1, "n1", "gpu", "chem")));
  CHECK_FALSE(observes(text, job(1, "n2")));
  CHECK_FALSE(observes(text, job(1, "n1", "cpu")));
  CHECK_FALSE(observes(text, job(1, "n1", "gpu", "physics")));
}

TEST_CASE("where partition or account is unknown, nothing is changed") {
  const ModeSubject unknown{"n1", std::nullopt, std::nullopt, 1};
  CHECK(observes("Mode=observe Partitions=gpu", unknown));
  CHECK(observes("Mode=observe Accounts=bio", unknown));
  CHECK(observes("Mode=observe\nMode=on Partitions=gpu", unknown));
  CHECK(observes("Mode=observe\nMode=on Accounts=bio", unknown));
  CHECK_FALSE(observes("Mode=observe\nMode=on Nodes=n1", unknown));
}

TEST_CASE("nodes are listed as Slurm writes them") {
  const std::string text = "Mode=observe Nodes=gpu[01-16,20],big1";
  for (const char* node : {"gpu01", "gpu16", "gpu20", "big1"}) {
    CHECK(observes(text, job(1, node)));
  }
  for (const char* node : {"gpu1", "gpu17", "gpu", "big", "big11", ""}) {
    CHECK_FALSE(observes(text, job(1, node)));
  }
}

TEST_CASE("a share of the jobs has about that part of the job ids") {
  for (const double percent : {1.0, 5.0, 50.0}) {
    int in = 0;
    constexpr int kJobs = 100'000;
    for (uint32_t id = 1; id <= kJobs; ++id) in += is_in_share(id, percent);
    // Five standard deviations.
    const double p = percent / 100;
    CHECK(in == Approx(kJobs * p).margin(5 * std::sqrt(kJobs * p * (1 - p))));
  }
}

TEST_CASE("a larger share contains a smaller one, and 100% is every job") {
  for (uint32_t id = 1; id < 10'000; ++id) {
    if (is_in_share(id, 5)) CHECK(is_in_share(id, 6));
    CHECK(is_in_share(id, 100));
  }
}

TEST_CASE("a canary is a Mode line with a share of the jobs") {
  const std::string text = "Mode=observe\nMode=on Jobs=5%";
  for (uint32_t id = 1; id < 1000; ++id) {
    CHECK(observes(text, job(id)) != is_in_share(id, 5));
  }
}

TEST_CASE("Mode lines are shown as they can be read back") {
  for (const char* line :
       {"Mode=on", "Mode=observe",
        "Mode=observe Nodes=gpu[01-16,20],big1 Partitions=a,b Accounts=c "
        "Jobs=5%",
        "Mode=on Jobs=0.5%"}) {
    CHECK(mode_line(rules(line).at(0)) == line);
  }
  Config config;
  config.modes = rules("Mode=observe\nMode=on Jobs=5%");
  CHECK(rules(config_text(config)) == config.modes);
}

TEST_CASE("wrong Mode lines are refused with line, value and what is allowed") {
  CHECK(refused("\nMode=off") ==
        "p.conf:2: Mode=off: not valid; allowed: on, observe");
  CHECK(refused("Mode=on Jobs=5") ==
        "p.conf:1: Jobs=5: not valid; allowed: a share of the jobs, from 0.01% "
        "to 100%");
  for (const char* value : {"0%", "101%", "%", "-1%", "nan%", "5%%"}) {
    CHECK(refused(std::string("Mode=on Jobs=") + value).find("not valid") !=
          std::string::npos);
  }
  for (const char* value :
       {"", "n[1-", "n[1-2]]", "n[2-1]", "n[a-b]", "n[]", "n1,,n2", "n 1",
        "n[1-9999999999]", "n1,", "]", "n\\"}) {
    CHECK(refused(std::string("Mode=on Nodes=\"") + value + "\"")
              .find("allowed: a list of nodes as Slurm writes it") !=
          std::string::npos);
  }
  CHECK(refused("Mode=on Partitions=a,,b") ==
        "p.conf:1: Partitions=a,,b: not valid; allowed: names separated by "
        "commas");
  for (const char* value : {"a[1-2]", "a\\", "a b", "", "a,"}) {
    CHECK(refused(std::string("Mode=on Accounts=\"") + value + "\"")
              .find("allowed: names separated by commas") != std::string::npos);
  }
  CHECK(refused("Mode=on Nodes=a nodes=b").find("given twice on this line") !=
        std::string::npos);
  CHECK(refused("Mode=on Users=a") ==
        "p.conf:1: Users=a: unknown key on a Mode line; allowed: Nodes, "
        "Partitions, Accounts and Jobs");
  std::string many;
  for (size_t i = 0; i <= kMaxModeRules; ++i) many += "Mode=on\n";
  CHECK(refused(many).starts_with("p.conf:65: Mode=on: too many lines"));
}

}  // namespace penstock
