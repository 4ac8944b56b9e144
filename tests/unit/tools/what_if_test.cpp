// `penstock what-if` on the command line, and its text against golden files.
// PENSTOCK_UPDATE_GOLDEN=1 rewrites those.
#include "predictor/what_if.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fake_agent.h"
#include "tests/unit/catch.h"
#include "tools/penstock/command_line.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kFixtures = PENSTOCK_FIXTURES;
const std::string kBoth = kFixtures + "/both.toml";

struct Ran {
  explicit Ran(std::vector<std::string> words) {
    words.insert(words.begin(), {"penstock", "what-if"});
    std::vector<const char*> argv;
    argv.reserve(words.size());
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out_stream, error_stream;
    Terminal terminal{out_stream};
    code = run_command_line(static_cast<int>(argv.size()), argv.data(),
                            terminal, error_stream);
    out = out_stream.str();
    errors = error_stream.str();
  }

  nlohmann::json json() const {
    INFO(errors);
    REQUIRE(code == kExitOk);
    return nlohmann::json::parse(out);
  }

  int code = -1;
  std::string out, errors;
};

void check_golden(const std::string& name, const std::string& text) {
  const std::string path = kFixtures + "/" + name;
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream golden;
  golden << file.rdbuf();
  CHECK(text == golden.str());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK(std::all_of(line.begin(), line.end(),
                      [](unsigned char c) { return c >= 0x20 && c < 0x7f; }));
  }
}

TEST_CASE("without an option every amount has a table") {
  check_golden("both.txt", Ran({kBoth}).out);
  // Its storage costs are unknown, which is stated and never shown as 0.
  check_golden("alexnet.txt", Ran({"alexnet"}).out);
}

TEST_CASE("several amounts make a table, a single amount applies to it") {
  check_golden("both_cores.txt", Ran({kBoth, "--cores", "0.25..2:0.25",
                                      "--accelerator", "2x", "--cache", "100%"})
                                     .out);
}

TEST_CASE("each density has its ceiling and its demand") {
  const std::vector<std::string> words = {kFixtures + "/bert.toml", "--gpus",
                                          "16", "--interconnect", "1192M"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return Ran(more).out;
  };
  check_golden("density.txt", with({"--density", "0.1,1,10%"}));
  check_golden("density_set.txt", with({"--density", "1%"}));
}

TEST_CASE("JSON has the model's figures") {
  const auto json = Ran({kBoth, "--cores", "0.5,1,3", "--json"}).json();
  CHECK(json["schema_version"] == 1);
  CHECK(json["kind"] == "what_if");
  CHECK(json["cores_of"] == "task");
  CHECK(json["set"].is_null());
  CHECK(json["present"]["cores"] == 2);
  CHECK(json["present"]["ranks"] == 2);
  REQUIRE(json["tables"].size() == 1);
  const auto& table = json["tables"][0];
  CHECK(table["of"] == "cores");
  CHECK(table["enough"].is_null());
  CHECK(table["why_none"] ==
        "storage supplies too little for any number of cores");
  REQUIRE(table["rows"].size() == 4);  // the present amount is one of them

  std::ifstream file(kBoth);
  std::ostringstream text;
  text << file.rdbuf();
  const auto profile = parse_profile(text.str(), "both");
  const auto model = WhatIf::from(*profile);
  REQUIRE(model);
  Amounts amounts = model->present();
  for (const auto& row : table["rows"]) {
    amounts.cores = row["cores"];
    const WhatIfPoint at = model->at(amounts);
    CHECK(row["samples_per_s"]["value"] == Approx(at.samples_per_s.value));
    CHECK(row["samples_per_s"]["low"] == Approx(at.samples_per_s.low));
    CHECK(row["prep_samples_per_s"] == Approx(*at.prep_samples_per_s));
    CHECK(row["fetch_samples_per_s"] == Approx(*at.fetch_samples_per_s));
    CHECK(row["bottleneck"] == bottleneck_name(at.bottleneck));
    CHECK(row["extrapolated"] == (row["cores"] == 3));
    CHECK(row["present"] == (row["cores"] == 2));
  }
}

TEST_CASE("set amounts apply to every table") {
  const auto json =
      Ran({kBoth, "--cores", "4", "--cache", "60%", "--json"}).json();
  CHECK(json["set"]["cores"] == 4);
  CHECK(json["set"]["cached_share"] == 0.6);
  REQUIRE(json["tables"].size() == 3);  // those of amounts that are not set
  for (const auto& table : json["tables"])
    for (const auto& row : table["rows"])
      CHECK(row["cores"].get<double>() * row["ranks"].get<double>() ==
            Approx(8));
  // Each of the set ranks has its part of the node, or the cores set for each.
  const auto shared = Ran({kBoth, "--ranks", "4", "--json"}).json();
  CHECK(shared["set"]["cores"] == 1);
  const auto given =
      Ran({kBoth, "--ranks", "4", "--cores", "2", "--json"}).json();
  CHECK(given["set"]["cores"] == 2);
  CHECK(given["set"]["bandwidth_bytes_per_s"] == 2e7);
}

TEST_CASE("values missing in a profile are null and can be set") {
  const auto json = Ran({"alexnet", "--json"}).json();
  CHECK(json["present"]["cached_share"].is_null());
  CHECK(json["present"]["bandwidth_bytes_per_s"].is_null());
  CHECK(json["present"]["fetch_samples_per_s"].is_null());
  for (const auto& table : json["tables"]) {
    const bool of_storage =
        table["of"] == "cached_share" || table["of"] == "bandwidth_bytes_per_s";
    CHECK(table["rows"].empty() == of_storage);
    CHECK(table["unknown"].is_string() == of_storage);
  }
  ScratchDirectory directory;
  directory.write("p.toml",
                  "accelerator_s_per_sample = 0.01\n"
                  "loader_cpu_s_per_sample = 0.02\nbytes_per_sample = 1e5\n");
  const std::string file = directory.file("p.toml");
  const Ran unset({file});
  CHECK_THAT(unset.out, ContainsSubstring("--cores N sets"));
  CHECK_THAT(unset.out, ContainsSubstring("--bandwidth RATE"));
  const auto set =
      Ran({file, "--cores", "1", "--bandwidth", "4M", "--json"}).json();
  CHECK(set["set"]["samples_per_s"]["value"] == Approx(4194304 / 1e5));
  CHECK(set["set"]["bottleneck"] == "fetch");
}

TEST_CASE("control characters in a profile's name are replaced") {
  ScratchDirectory directory;
  directory.write("\033[2Jp.toml", "accelerator_s_per_sample = 0.01\n");
  const Ran ran({directory.file("\033[2Jp.toml")});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out.find('\033') == std::string::npos);
}

TEST_CASE("--svg writes a chart besides the table, or the chart alone") {
  ScratchDirectory directory;
  const std::string file = directory.file("x.svg");
  const Ran both({kBoth, "--svg", file});
  CHECK(both.code == kExitOk);
  CHECK_THAT(both.out, ContainsSubstring("What if: profile"));
  const Ran alone({kBoth, "--svg", "-"});
  CHECK(alone.code == kExitOk);
  CHECK(alone.out.starts_with("<svg"));
  CHECK(alone.out.ends_with("</svg>\n"));
  CHECK(read_file(file, alone.out.size()).value_or("") == alone.out);
}

TEST_CASE("invalid requests are refused with a remedy") {
  ScratchDirectory directory;
  directory.write("described.toml", "model = \"resnet50\"\n");
  directory.write("bare.toml", "accelerator_s_per_sample = 0.01\n");
  directory.write("broken.toml", "cores = [2, 1]\n");
  const std::string svg = directory.file("x.svg");
  const struct {
    std::vector<std::string> words;
    int code;
    const char* message;
  } rows[] = {
      {{}, kExitUsage, "PROFILE is required"},
      {{"nonesuch"}, kExitNoData, "there are: alexnet"},
      {{"/nonexistent/p.toml"}, kExitNoData, "/nonexistent/p.toml"},
      {{directory.file("broken.toml")}, kExitUsage, "broken.toml: "},
      {{directory.file("described.toml")},
       kExitUsage,
       "describes the job, not the costs of a sample; measure them with "
       "penstock analyze"},
      {{kBoth, "--cores", "many"},
       kExitUsage,
       "--cores: \"many\": \"many\" is not an amount; allowed: such as 4, "
       "1,2,4"},
      {{kBoth, "--cores="}, kExitUsage, "--cores: "},
      {{kBoth, "--cache", "50"}, kExitUsage, "--cache: \"50\""},
      {{kBoth, "--bandwidth", "4..1M"}, kExitUsage, "--bandwidth: "},
      {{kBoth, "--accelerator", "fast"}, kExitUsage, "--accelerator: "},
      {{kBoth, "--ranks", "0"}, kExitUsage, "--ranks: "},
      {{directory.file("bare.toml"), "--svg", svg},
       kExitNoData,
       "--svg: nothing to draw"},
      {{kBoth, "--svg", "/nonexistent/x.svg"},
       kExitUsage,
       "/nonexistent/x.svg: No such file or directory; create its directory "
       "first"},
      {{kBoth, "--svg", directory.path}, kExitUsage, "is a directory"},
      {{kBoth, "--svg", "/dev/full"}, kExitUsage, "is not a regular file"},
      {{kBoth, "--svg", ""}, kExitUsage, "needs a file's name"},
  };
  for (const auto& row : rows) {
    const Ran ran(row.words);
    INFO(row.message << " not in " << ran.errors);
    CHECK(ran.code == row.code);
    CHECK(ran.errors.find(row.message) != std::string::npos);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("a file name without '/' is refused with a hint") {
  ScratchDirectory directory;
  directory.write("here.toml", "accelerator_s_per_sample = 0.01\n");
  const std::filesystem::path back = std::filesystem::current_path();
  std::filesystem::current_path(directory.path);
  const Ran ran({"here.toml"});
  const Ran path({"./here.toml"});
  std::filesystem::current_path(back);
  CHECK(ran.code == kExitNoData);
  CHECK_THAT(ran.errors, ContainsSubstring("as in ./here.toml"));
  CHECK(path.code == kExitOk);
}

}  // namespace
}  // namespace penstock
