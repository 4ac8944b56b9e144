// `penstock predict PROFILE` on the command line.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("predict reads a file and names the limit of the rate") {
  ScratchDirectory directory;
  directory.write("p.toml",
                  "name = \"p\"\naccelerator_s_per_sample = 0.01\n"
                  "loader_cpu_s_per_sample = 0.02\nbytes_per_sample = 1e5\n");
  std::string file = directory.file("p.toml");
  auto rate = [&](std::vector<std::string> limits) {
    limits.insert(limits.begin(), {"predict", file, "--json"});
    Ran ran(limits);
    REQUIRE(ran.code == kExitOk);
    nlohmann::json json = nlohmann::json::parse(ran.out);
    CHECK(json["ceiling_samples_per_s"]["value"] == Approx(100));
    CHECK(json["demand_cores"]["value"] == Approx(2));
    return std::pair(json["rate_samples_per_s"].get<double>(),
                     json["limited_by"].get<std::string>());
  };
  using Rate = std::pair<double, std::string>;
  CHECK(rate({}) == Rate(100, "the accelerator"));
  CHECK(rate({"--cores", "8"}) == Rate(100, "the accelerator"));
  CHECK(rate({"--cores", "1"}) == Rate(50, "loader cores"));
  auto [by_storage, name] = rate({"--cores", "1", "--bandwidth", "1M"});
  CHECK(by_storage == Approx(1048576 / 1e5));
  CHECK(name == "storage bandwidth");
  Ran text({"predict", file, "--cores", "1"});
  CHECK(text.out.find("50 samples/s, 50% of the ceiling, limited by loader "
                      "cores") != std::string::npos);
}

TEST_CASE("predict interpolates a measured curve") {
  ScratchDirectory directory;
  directory.write("p.toml",
                  "accelerator_s_per_sample = 0.001\n"
                  "rate_at_cores = [100.0, 150.0]\n");
  Ran ran({"predict", directory.file("p.toml"), "--cores", "1.5", "--json"});
  REQUIRE(ran.code == kExitOk);
  CHECK(nlohmann::json::parse(ran.out)["rate_samples_per_s"] == Approx(125));
}

TEST_CASE("predict interpolates a curve with its own amounts of cores") {
  ScratchDirectory directory;
  directory.write("p.toml",
                  "accelerator_s_per_sample = 0.001\n"
                  "rate_at_cores = [100.0, 150.0]\ncores = [0.5, 1]\n");
  Ran ran({"predict", directory.file("p.toml"), "--cores", "0.75", "--json"});
  REQUIRE(ran.code == kExitOk);
  CHECK(nlohmann::json::parse(ran.out)["rate_samples_per_s"] == Approx(125));
}

TEST_CASE("predict finds the site's profiles before the built-in ones") {
  ScratchDirectory directory;
  directory.write("c", "ProfileDir=" + directory.path + "\n");
  directory.write("alexnet.json", "{\"accelerator_s_per_sample\": 0.5}");
  Ran site({"predict", "alexnet", "--json", "--config", directory.file("c")});
  REQUIRE(site.code == kExitOk);
  nlohmann::json json = nlohmann::json::parse(site.out);
  CHECK(json["ceiling_samples_per_s"]["value"] == Approx(2));
  CHECK(json["demand_cores"].is_null());
  Ran built_in({"predict", "res50", "--json", "--config", directory.file("c")});
  CHECK(built_in.code == kExitOk);
}

TEST_CASE("predict shows values missing in the profile as unknown") {
  ScratchDirectory directory;
  directory.write("p.toml", "accelerator_s_per_sample = 0.5\n");
  Ran ran({"predict", directory.file("p.toml"), "--cores", "1"});
  REQUIRE(ran.code == kExitOk);
  CHECK(ran.out.find("rate with that   unknown") != std::string::npos);
  CHECK(ran.out.find("storage          unknown") != std::string::npos);
}

TEST_CASE("predict refuses unusable profiles by name") {
  ScratchDirectory directory;
  Ran name({"predict", "nonesuch"});
  CHECK(name.code == kExitNoData);
  CHECK(name.said("there are: alexnet"));
  Ran file({"predict", directory.file("none")});
  CHECK(file.code == kExitNoData);
  directory.write("p.toml", "speed = 1\n");
  Ran bad({"predict", directory.file("p.toml")});
  CHECK(bad.code == kExitUsage);
  CHECK(bad.said("speed"));
  Ran folder({"predict", directory.path});
  CHECK(folder.code == kExitUsage);
  CHECK(folder.said("is not a regular file"));
  REQUIRE(::mkfifo(directory.file("pipe").c_str(), 0600) == 0);
  Ran pipe({"predict", directory.file("pipe")});
  CHECK(pipe.code == kExitUsage);
}

}  // namespace
}  // namespace penstock
