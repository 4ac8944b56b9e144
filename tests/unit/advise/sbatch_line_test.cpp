#include "tools/advise/sbatch_line.h"

#include "tests/unit/catch.h"

namespace penstock::advise {
namespace {

using Words = std::vector<std::string>;

// "cpus-per-task=4 gpus=1"
std::string shown(const std::vector<GivenOption>& options) {
  std::string out;
  for (const GivenOption& it : options) {
    out += (out.empty() ? "" : " ") + it.name;
    if (!it.value.empty()) out += "=" + it.value;
  }
  return out;
}

std::string of_line(const Words& words) {
  const auto line = parse_sbatch_line(words);
  return line ? shown(line->options) : line.error().message;
}

std::string of_script(const std::string& script) {
  SbatchLine line;
  const Status added = add_script_options(script, "s", line);
  return added ? shown(line.options) : added.error().message;
}

}  // namespace

TEST_CASE("options are taken in every form that sbatch takes") {
  CHECK(of_line({"-c", "4"}) == "cpus-per-task=4");
  CHECK(of_line({"-c4"}) == "cpus-per-task=4");
  CHECK(of_line({"--cpus-per-task=4"}) == "cpus-per-task=4");
  CHECK(of_line({"--cpus-per-task", "4"}) == "cpus-per-task=4");
  CHECK(of_line({"--cpus-per-t=4"}) == "cpus-per-task=4");
  CHECK(of_line({"-Hvp", "gpu"}) == "hold verbose partition=gpu");
  CHECK(of_line({"--exclusive", "--nice=5", "-k"}) ==
        "exclusive nice=5 no-kill");
  CHECK(of_line({"--loader-threads=6", "--loader-advise"}) ==
        "loader-threads=6 loader-advise");
}

TEST_CASE("the script and its arguments follow the options") {
  const auto line =
      parse_sbatch_line({"-n", "2", "train.sh", "-c", "4", "--epochs=3"});
  REQUIRE(line);
  CHECK(shown(line->options) == "ntasks=2");
  CHECK(line->rest == Words{"train.sh", "-c", "4", "--epochs=3"});
}

TEST_CASE("unknown options are kept by name") {
  const auto line =
      parse_sbatch_line({"--site-flag=7", "-c", "2", "--cp=3", "train.sh"});
  REQUIRE(line);
  // "--cp" begins several names.
  CHECK(line->unknown == Words{"--site-flag", "--cp"});
  CHECK(shown(line->options) == "cpus-per-task=2");
  CHECK(line->rest == Words{"train.sh"});
}

TEST_CASE("a missing value and a heterogeneous job are refused") {
  CHECK(of_line({"-c"}) == "sbatch's arguments: -c: its value is missing");
  CHECK(of_line({"--mem"}) ==
        "sbatch's arguments: --mem: its value is missing");
  CHECK_THAT(
      of_line({"-n1", ":", "-n2", "x.sh"}),
      Catch::Matchers::StartsWith("sbatch's arguments: a heterogeneous job"));
  CHECK_THAT(of_script("#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n"),
             Catch::Matchers::StartsWith("s:3: a heterogeneous job"));
}

TEST_CASE("a script's options end at its first command") {
  CHECK(of_script("#!/bin/bash\n"
                  "# a comment\n"
                  "\n"
                  "#SBATCH -c 4 --gpus=1  # two options\n"
                  "##SBATCH -n 3\n"
                  "#SBATCH\t--partition=gpu\r\n"
                  "   \n"
                  "module load cuda\n"
                  "#SBATCH --mem=1G\n") ==
        "cpus-per-task=4 gpus=1 partition=gpu");
  CHECK(of_script("") == "");
  CHECK(of_script("#SBATCH -c2") == "cpus-per-task=2");
  CHECK(of_script("#SBATCH") == "");
}

TEST_CASE("a script's words are quoted as in a shell") {
  CHECK(of_script("#SBATCH -J \"my job\" --comment='a # \"b\"' -p a\\ b\n") ==
        "job-name=my job comment=a # \"b\" partition=a b");
  CHECK(of_script("#SBATCH -J ''\n") == "job-name");
  CHECK(of_script("#!/bin/sh\n#SBATCH -J \"my job\n") ==
        "s:2: a quote does not end");
}

TEST_CASE("an option of a script tells its line") {
  SbatchLine line;
  REQUIRE(
      add_script_options("#!/bin/sh\n#SBATCH -c2 --what\n", "t.sbatch", line));
  REQUIRE(line.options.size() == 1);
  CHECK(line.options[0].where == "t.sbatch:2");
  CHECK(line.unknown == Words{"--what"});
}

}  // namespace penstock::advise
