// `penstock advise` on a machine without Slurm and without a controller.
#include <nlohmann/json.hpp>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

struct Place : ScratchDirectory {
  Place() {
    write("c", "ProfileDir=" + path + "\nReportDir=" + path +
                   "/none\nSocketPath=" + path + "/none.sock\n");
    write("p.toml",
          "accelerator_s_per_sample = 0.001\n"
          "loader_cpu_s_per_sample = 0.0035\n");
    write("train.sbatch", "#!/bin/sh\n#SBATCH -c 2 --loader-model=p\nsrun x\n");
    write("bare.sbatch", "#!/bin/sh\nsrun x\n");
  }
  Ran advise(Words words) const {
    words.insert(words.begin(), {"advise", "--config", file("c")});
    return Ran(words);
  }
};

}  // namespace

TEST_CASE("a profile alone gives advice") {
  const Place place;
  const Ran ran = place.advise({"--json", place.file("train.sbatch")});
  REQUIRE(ran.code == kExitOk);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["lines"] ==
        nlohmann::json{"num_workers=4", "#SBATCH --cpus-per-task=4"});
  CHECK(json["choices"][0]["cpus_per_task"] == 2);
  CHECK(json["nodes"].is_null());
  CHECK(json["job_name"] == "train.sbatch");
  const Ran text = place.advise(
      {"--", "-c", "4", "-J", "mine", place.file("train.sbatch"), "--lr", "1"});
  CHECK(text.code == kExitOk);
  CHECK(text.out.starts_with("mine: 1 node, 1 task with 4 CPUs\n"));
  CHECK(text.out.find("Ask for what you ask for") != std::string::npos);
  CHECK(text.out.find("Slurm does not tell the partition's nodes") !=
        std::string::npos);
}

TEST_CASE("the words of a submission are checked") {
  const Place place;
  const auto fault = [&](const Words& words) {
    const Ran ran = place.advise(words);
    CHECK(ran.code == kExitUsage);
    CHECK(ran.out.empty());
    return ran.errors;
  };
  CHECK_THAT(fault({}), ContainsSubstring("a script is missing"));
  CHECK_THAT(fault({"--"}), ContainsSubstring("a script is missing"));
  CHECK_THAT(fault({"--", "-c", "2"}),
             ContainsSubstring("one from standard input is not read"));
  CHECK_THAT(fault({place.file("train.sbatch"), "--", "x"}),
             ContainsSubstring("choose one"));
  CHECK_THAT(fault({"--like", "a_b", place.file("train.sbatch")}),
             ContainsSubstring("--like: \"a_b\": not a job's number"));
  CHECK_THAT(fault({"--", "-c0", place.file("train.sbatch")}),
             ContainsSubstring("--cpus-per-task=0: allowed: 1 to 1000000"));
}

TEST_CASE("what is not known ends with a remedy") {
  const Place place;
  const Ran none = place.advise({place.file("bare.sbatch")});
  CHECK(none.code == kExitNoData);
  CHECK(none.said("nothing is known of it yet"));
  CHECK(none.said("--like JOBID"));
  const Ran missing = place.advise({place.file("no.sbatch")});
  CHECK(missing.code == kExitNoData);
  CHECK(missing.said("no.sbatch: No such file"));
  const Ran profile =
      place.advise({"--", "--loader-model=none", place.file("bare.sbatch")});
  CHECK(profile.code == kExitNoData);
  CHECK(profile.said("--loader-model=none: no built-in profile"));
  const Ran like = place.advise({"--like", "4711", place.file("bare.sbatch")});
  CHECK(like.code == kExitNoData);
  CHECK(like.said("--like: job 4711: no report"));
}

}  // namespace penstock
