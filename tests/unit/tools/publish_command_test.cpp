// `penstock publish` on the command line.
#include <filesystem>
#include <fstream>

#include "fake_agent.h"
#include "ran.h"
#include "select_ext/job_submit/table_reader.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("publish writes every profile to SubmitTable") {
  ScratchDirectory directory;
  std::filesystem::create_directory(directory.file("p"));
  directory.write("p/mine.toml", "");
  directory.write("c", "SubmitTable=" + directory.file("t") +
                           "\nProfileDir=" + directory.file("p") + "\n");
  const std::vector<std::string> command = {"publish", "--config",
                                            directory.file("c")};
  Ran bad(command);
  CHECK(bad.code == kExitUsage);
  CHECK(bad.said("mine.toml"));
  CHECK_FALSE(std::ifstream(directory.file("t")));

  directory.write("p/mine.toml",
                  "accelerator_s_per_sample = 0.001\n"
                  "loader_cpu_s_per_sample = 0.004\n");
  directory.write("p/mine.json", "{\"accelerator_s_per_sample\": 1}");
  Ran good(command);
  REQUIRE(good.code == kExitOk);
  job_submit::TableReader table;
  REQUIRE(table.open(directory.file("t").c_str(), std::nullopt) == nullptr);
  job_submit::ModelDemand entry;
  REQUIRE(table.model("mine", entry).found);
  CHECK(entry.millicores.value == 4000);
  CHECK(table.model("res50", entry).found);
  CHECK_FALSE(table.model("other", entry).found);

  const std::string config = "SubmitTable=" + directory.file("t") +
                             "\nProfileDir=" + directory.file("p") + "\n";
  directory.write("c", config + "SubmitModel=mine\n");
  Ran any(command);
  REQUIRE(any.code == kExitOk);
  REQUIRE(table.model("other", entry).found);
  CHECK(entry.millicores.value == 4000);
  directory.write("c", config + "SubmitModel=none\n");
  Ran unknown(command);
  CHECK(unknown.code == kExitNoData);
  CHECK(unknown.said("SubmitModel=none: no such profile; allowed: "));
  CHECK(table.model("other", entry).found);
  table.close();
}

}  // namespace
}  // namespace penstock
