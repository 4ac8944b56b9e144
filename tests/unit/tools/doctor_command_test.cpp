// `penstock doctor` on the command line.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("doctor exits with 1 if a check fails") {
  ScratchDirectory directory;
  directory.write("slurm.conf", "TaskPlugin=task/cgroup,task/affinity\n");
  directory.write("c",
                  "Policy=greedy\nSocketPath=" + directory.file("none") + "\n");
  ::setenv("SLURM_CONF", directory.file("slurm.conf").c_str(), 1);
  Ran text({"doctor", "--config", directory.file("c")});
  CHECK(text.code == kExitInternal);
  CHECK(text.out.find("ok    slurm.conf      " +
                      directory.file("slurm.conf")) != std::string::npos);
  CHECK(std::regex_search(
      text.out, std::regex("FAIL  penstock.conf +" + directory.file("c") +
                           ":1: .*\n      fix: ")));
  Ran json({"doctor", "--json", "--config", directory.file("c")});
  CHECK(json.code == kExitInternal);
  const nlohmann::json list = nlohmann::json::parse(json.out);
  REQUIRE(list.is_array());
  for (const nlohmann::json& finding : list) {
    CHECK(finding.size() == 4);
    const bool is_trouble =
        finding["status"] == "fail" || finding["status"] == "warn";
    CHECK(finding["remedy"].get<std::string>().empty() != is_trouble);
  }
  ::unsetenv("SLURM_CONF");
}

}  // namespace
}  // namespace penstock
