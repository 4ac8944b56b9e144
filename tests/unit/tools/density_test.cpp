// `penstock predict --density` and `penstock what-if --density` on the command
// line.
#include <nlohmann/json.hpp>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* kProfile =
    "accelerator_s_per_sample = 0.01\nloader_cpu_s_per_sample = 0.02\n"
    "bytes_per_sample = 1e5\n";
constexpr const char* kCosts =
    R"({"message_s": 1e-4, "byte_s": 8e-10, "add_s": 1e-10,
        "select_s": 5e-10, "record_s": 1e-9, "ranks": 4})";
// 110 M parameters among 16 ranks at 10 Gb/s: 660 ms densely, 16.5 ms at 1%;
// a step of 32 samples computes for 320 ms.
const std::vector<std::string> kAsked = {
    "--density", "1%", "--params",       "110",       "--batch", "32",
    "--gpus",    "16", "--interconnect", "1192.0929M"};
constexpr double kFirstBucket = 6'553'600 / 110e6;

std::vector<std::string> words_of(std::vector<std::string> words,
                                  const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json json_of(std::vector<std::string> words) {
  words.emplace_back("--json");
  const Ran ran(std::move(words));
  INFO(ran.errors);
  REQUIRE(ran.code == kExitOk);
  return json::parse(ran.out);
}

struct Files {
  Files() {
    directory.write("p.toml", kProfile);
    directory.write("costs.json", kCosts);
    profile = directory.file("p.toml");
    costs = directory.file("costs.json");
  }
  ScratchDirectory directory;
  std::string profile, costs;
};

TEST_CASE("predict reports the ceiling and demand at a density") {
  const Files files;
  const json answer = json_of(words_of({"predict", files.profile}, kAsked));
  CHECK(answer["ceiling_samples_per_s"]["value"] == Approx(100));
  const json& exchange = answer["exchange"];
  CHECK(exchange["parameters"] == 110'000'000);
  CHECK(exchange["samples_per_step"] == 32);
  CHECK(exchange["ranks"] == 16);
  CHECK(exchange["costs_measured"] == false);
  REQUIRE(exchange["densities"].size() == 2);

  const json& sparse = exchange["densities"][0];
  CHECK(sparse["density"] == 0.01);
  CHECK(sparse["step"]["method"] == "two-phase");
  CHECK(sparse["step"]["exchange_s"].get<double>() == Approx(0.0165));
  const json& dense = exchange["densities"][1];
  CHECK(dense["density"] == 1);
  CHECK(dense["step"]["method"] == "dense");
  CHECK(dense["step"]["exchange_s"].get<double>() == Approx(0.660));
  const double dense_s = 0.32 / 3 + 0.64 / 3 * kFirstBucket + 0.660;
  CHECK(dense["step"]["step_s"].get<double>() == Approx(dense_s));
  for (const json& row : exchange["densities"]) {
    const double ceiling = row["ceiling_samples_per_s"]["value"];
    CHECK(ceiling == Approx(32 / row["step"]["step_s"].get<double>()));
    CHECK(row["ceiling_samples_per_s"]["low"] == Approx(0.75 * ceiling));
    CHECK(row["demand_cores"]["value"] == Approx(0.02 * ceiling));
    CHECK(row["demand_bytes_per_s"]["value"] == Approx(1e5 * ceiling));
  }
  const Ran text(words_of({"predict", files.profile}, kAsked));
  CHECK(text.out.find("Exchange of gradients: 110M parameters, 16 ranks, 1.16 "
                      "GB/s each") != std::string::npos);
  CHECK(text.out.find("--exchange-costs") != std::string::npos);
}

TEST_CASE("predict without a density reports no exchange") {
  const Files files;
  CHECK_FALSE(json_of({"predict", files.profile}).contains("exchange"));
}

TEST_CASE("demand follows a measured curve to a higher ceiling") {
  const Files files;
  files.directory.write("curve.toml",
                        "accelerator_s_per_sample = 0.01\n"
                        "rate_at_cores = [40.0, 70.0, 90.0, 100.0]\n");
  const json answer = json_of(
      words_of({"predict", files.directory.file("curve.toml")}, kAsked));
  const json& dense = answer["exchange"]["densities"][1];
  // 41 samples/s are on the curve's second piece, 99.8 on its last.
  CHECK(
      dense["demand_cores"]["value"].get<double>() ==
      Approx(1 + (dense["ceiling_samples_per_s"]["value"].get<double>() - 40) /
                     30));
  const json& sparse = answer["exchange"]["densities"][0];
  CHECK(
      sparse["demand_cores"]["value"].get<double>() ==
      Approx(3 + (sparse["ceiling_samples_per_s"]["value"].get<double>() - 90) /
                     10));
}

TEST_CASE("steps of a described job are those of one of its GPUs") {
  const std::vector<std::string> job = {"predict",
                                        "--model",
                                        "resnet50",
                                        "--gpu",
                                        "A100-SXM-80GB",
                                        "--batch",
                                        "64",
                                        "--gpus",
                                        "4",
                                        "--nodes",
                                        "4",
                                        "--interconnect",
                                        "119.20929M"};
  const json answer =
      json_of(words_of(job, {"--density", "0.1,1%", "--bytes-per-sample",
                             "110K", "--cpu-class", "jpeg"}));
  const json alone = json_of({"predict", "--model", "resnet50", "--gpu",
                              "A100-SXM-80GB", "--batch", "64"});
  const json& rows = answer["exchange"]["densities"];
  REQUIRE(rows.size() == 3);
  const double alone_s =
      64 / alone["ceiling_samples_per_s"]["value"].get<double>();
  for (const json& row : rows) {
    CHECK(row["step"]["step_s"].get<double>() >= alone_s);
    const double ceiling = row["ceiling_samples_per_s"]["value"];
    // Intervals are as wide as the prediction's own.
    CHECK(row["ceiling_samples_per_s"]["low"].get<double>() / ceiling ==
          Approx(answer["ceiling_samples_per_s"]["low"].get<double>() /
                 answer["ceiling_samples_per_s"]["value"].get<double>()));
    CHECK(row["demand_cores"]["value"].get<double>() / ceiling ==
          Approx(answer["loader_cpu_s_per_sample"]["value"].get<double>()));
  }
  CHECK(rows[0]["ceiling_samples_per_s"]["value"] >
        rows[2]["ceiling_samples_per_s"]["value"]);
}

TEST_CASE("measured points of several GPUs include their exchange") {
  const std::vector<std::string> job = {"predict",
                                        "--model",
                                        "resnet50",
                                        "--gpu",
                                        "A100-SXM-80GB",
                                        "--batch",
                                        "64",
                                        "--gpus",
                                        "4",
                                        "--nodes",
                                        "4",
                                        "--interconnect",
                                        "1192.0929M",
                                        "--measured",
                                        "64:1200"};
  const json answer = json_of(words_of(job, {"--density", "1%"}));
  const json& dense = answer["exchange"]["densities"][1];
  CHECK(dense["ceiling_samples_per_s"]["value"].get<double>() ==
        Approx(answer["ceiling_samples_per_s"]["value"].get<double>()));
}

TEST_CASE("a described profile can be predicted at a density") {
  const Files files;
  files.directory.write("d.toml",
                        "model = \"resnet50\"\ngpu = \"A100-SXM-80GB\"\n"
                        "nodes = 4\nbatch = 64\nnetwork_gbs = 0.125\n");
  const json answer = json_of({"predict", files.directory.file("d.toml"),
                               "--density", "1%", "--gpus", "4"});
  const json& rows = answer["exchange"]["densities"];
  REQUIRE(rows.size() == 2);
  CHECK(answer["exchange"]["parameters"] > 25'000'000);
  CHECK(answer["exchange"]["link_bytes_per_s"] == Approx(0.125e9));
  CHECK(rows[0]["ceiling_samples_per_s"]["value"] >
        rows[1]["ceiling_samples_per_s"]["value"]);
}

TEST_CASE("measured costs are used, and --interconnect replaces their link") {
  const Files files;
  const std::vector<std::string> asked = {
      "predict",  files.profile, "--density",        "1%",
      "--params", "110",         "--batch",          "32",
      "--gpus",   "4",           "--exchange-costs", files.costs};
  const json answer = json_of(asked)["exchange"];
  CHECK(answer["costs_measured"] == true);
  CHECK(answer["link_bytes_per_s"] == Approx(1.25e9));
  // A step computes for 320 ms and selects for 55.
  CHECK(answer["densities"][0]["step"]["step_s"].get<double>() > 0.375);
  const json slower =
      json_of(words_of(asked, {"--interconnect", "119.20929M"}))["exchange"];
  CHECK(slower["link_bytes_per_s"] == Approx(1.25e8));
  CHECK(slower["densities"][1]["step"]["step_s"] >
        answer["densities"][1]["step"]["step_s"]);
}

TEST_CASE("a link without costs has an unknown bandwidth") {
  const Files files;
  files.directory.write("free.json",
                        R"({"message_s": 1e-5, "byte_s": 0, "add_s": 0,
                            "select_s": 0, "record_s": 0})");
  const std::vector<std::string> asked = {
      "predict",          files.profile,
      "--density",        "1%",
      "--params",         "110",
      "--batch",          "32",
      "--gpus",           "4",
      "--exchange-costs", files.directory.file("free.json")};
  CHECK(json_of(asked)["exchange"]["link_bytes_per_s"].is_null());
  CHECK(Ran(asked).out.find("110M parameters, 4 ranks\n") != std::string::npos);
}

TEST_CASE("ranks of a node share its link in a sparse exchange only") {
  const Files files;
  const json answer = json_of(
      words_of({"predict", files.profile}, words_of(kAsked, {"--nodes", "2"})));
  CHECK(answer["exchange"]["ranks_per_link"] == 8);
  const json& rows = answer["exchange"]["densities"];
  CHECK(rows[0]["step"]["exchange_s"].get<double>() == Approx(8 * 0.0165));
  CHECK(rows[1]["step"]["exchange_s"].get<double>() == Approx(0.660));
}

TEST_CASE("what-if applies a density to all tables and adds its own table") {
  const Files files;
  const json answer = json_of(words_of({"what-if", files.profile}, kAsked));
  CHECK(answer["present"]["density"].is_null());
  CHECK(answer["present"]["ceiling_samples_per_s"] == Approx(100));
  CHECK(answer["set"]["density"] == 0.01);
  const double ceiling = answer["set"]["ceiling_samples_per_s"];
  CHECK(ceiling < 100);
  CHECK(ceiling > 95);
  CHECK(answer["exchange"]["ranks"] == 16);
  const json& tables = answer["tables"];
  CHECK(tables[1]["of"] == "cores");
  CHECK(tables[1]["enough"].get<double>() == Approx(0.97 * 0.02 * ceiling));
  const json& table = tables[0];
  CHECK(table["of"] == "density");
  REQUIRE(table["rows"].size() == 2);
  for (const json& row : table["rows"]) {
    const double top = row["ceiling_samples_per_s"];
    CHECK(top == Approx(32 / row["step"]["step_s"].get<double>()));
    CHECK(row["enough_cores"].get<double>() == Approx(0.97 * 0.02 * top));
    CHECK(row["enough_bandwidth_bytes_per_s"].get<double>() ==
          Approx(0.97 * 1e5 * top));
  }
  CHECK(table["enough"].get<double>() > 0.01);
}

TEST_CASE("a density of 100% alone has no table but applies to the others") {
  const Files files;
  std::vector<std::string> asked = kAsked;
  asked[1] = "100%";
  const json answer = json_of(words_of({"what-if", files.profile}, asked));
  CHECK(answer["set"]["density"] == 1);
  CHECK(answer["set"]["ceiling_samples_per_s"] < 50);
  CHECK(answer["tables"][0]["of"] == "cores");
}

TEST_CASE("several densities give a table of densities only") {
  const Files files;
  std::vector<std::string> asked = kAsked;
  asked[1] = "0.1,1,10%";
  const json answer = json_of(words_of({"what-if", files.profile}, asked));
  CHECK(answer["set"].is_null());
  REQUIRE(answer["tables"].size() == 1);
  CHECK(answer["tables"][0]["rows"].size() == 4);
}

TEST_CASE("the ceiling of a profile with ranks includes its dense exchange") {
  const Files files;
  files.directory.write("r.toml", std::string(kProfile) +
                                      "ranks = 8\nnodes = 2\nparams_m = 11\n"
                                      "batch = 32\nnetwork_gbs = 1.25\n");
  const std::string profile = files.directory.file("r.toml");
  const json answer = json_of({"what-if", profile, "--density", "1%"});
  CHECK(answer["present"]["density"] == 1);
  CHECK(answer["present"]["ceiling_samples_per_s"].get<double>() ==
        Approx(100));
  CHECK(answer["tables"][0]["rows"][1]["present"] == true);
  const Ran faster(
      {"what-if", profile, "--density", "1%", "--interconnect", "10M"});
  CHECK(faster.code == kExitUsage);
  CHECK(
      faster.said("--density: a step took 320 ms, and by these costs the "
                  "dense exchange of its gradients alone takes "));
}

TEST_CASE("what-if refuses options of the exchange without --density") {
  const Files files;
  for (const char* option :
       {"--gpus", "--nodes", "--params", "--batch", "--interconnect"}) {
    const Ran ran({"what-if", files.profile, option, "4"});
    CHECK(ran.code == kExitUsage);
    CHECK(ran.said(std::string(option) + " requires --density"));
  }
}

TEST_CASE("a profile with more ranks than allowed is refused") {
  const Files files;
  files.directory.write("many.toml", std::string(kProfile) +
                                         "ranks = 1000000\nnodes = 1000000\n");
  const std::string profile = files.directory.file("many.toml");
  for (const char* command : {"predict", "what-if"}) {
    const Ran ran({command, profile, "--density", "1%", "--params", "9",
                   "--batch", "8", "--exchange-costs", files.costs});
    CHECK(ran.code == kExitUsage);
    CHECK(ran.said("--density: needs --gpus N of at most 1000000"));
  }
}

TEST_CASE("invalid densities and missing options are refused by name") {
  const Files files;
  files.directory.write("broken.json", "{\"message_s\": 2}");
  const struct {
    std::vector<std::string> words;
    int code;
    const char* message;
  } rows[] = {
      {{"--density", "0%"}, kExitUsage, "\"0%\": \"0\" must be 0.001 to 100"},
      {{"--density", "101%"}, kExitUsage, "must be 0.001 to 100"},
      {{"--density", "NaN%"}, kExitUsage, "\"NaN%\" is not an amount"},
      {{"--density", "0.01"}, kExitUsage, "allowed: such as 1%, 0.1,1,10%"},
      {{"--density", ""}, kExitUsage, "--density: "},
      {{"--density", "1%"}, kExitUsage, "--density: needs --params N"},
      {{"--density", "1%", "--params", "9"},
       kExitUsage,
       "--density: needs --batch N"},
      {{"--density", "1%", "--params", "9", "--batch", "8"},
       kExitUsage,
       "--density: needs --interconnect RATE, what each rank can send in a "
       "second, or --exchange-costs FILE"},
      {{"--density", "1%", "--params", "9", "--batch", "8", "--interconnect",
        "1G"},
       kExitUsage,
       "--density: needs --gpus N of 2 or more: one rank exchanges nothing"},
      {{"--density", "1%", "--params", "9", "--batch", "8", "--interconnect",
        "fast", "--gpus", "4"},
       kExitUsage,
       "--interconnect: "},
      {{"--density", "1%", "--params", "9", "--batch", "8", "--interconnect",
        "1G", "--gpus", "4", "--nodes", "8"},
       kExitUsage,
       "--nodes: must not be more than --gpus"},
      {{"--density", "1%", "--params", "9", "--batch", "8", "--exchange-costs",
        files.directory.file("none")},
       kExitNoData,
       "No such file"},
      {{"--density", "1%", "--params", "9", "--batch", "8", "--exchange-costs",
        files.directory.file("broken.json")},
       kExitUsage,
       "broken.json: message_s: not valid"},
      {{"--exchange-costs", files.costs},
       kExitUsage,
       "--exchange-costs requires --density"},
      {{"--density", "1%", "--params", "0"}, kExitUsage, "--params"},
  };
  for (const char* command : {"predict", "what-if"})
    for (const auto& row : rows) {
      const Ran ran(words_of({command, files.profile}, row.words));
      INFO(command << ": " << row.message << " not in " << ran.errors);
      CHECK(ran.code == row.code);
      CHECK(ran.said(row.message));
      CHECK(ran.out.empty());
    }
}

}  // namespace
}  // namespace penstock
