// The command as it is typed: arguments, output, messages, exit codes.
#include "tools/penstock/command_line.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "fake_agent.h"
#include "report/json.h"
#include "select_ext/job_submit/table_reader.h"
#include "tests/unit/catch.h"
#include "tests/unit/report/samples.h"

namespace penstock {
namespace {

struct Ran {
  explicit Ran(std::vector<std::string> words) {
    words.insert(words.begin(), "penstock");
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    Terminal terminal{out_stream};
    code = run_command_line(static_cast<int>(argv.size()), argv.data(),
                            terminal, error_stream);
    out = out_stream.str();
    errors = error_stream.str();
  }

  bool said(const std::string& text) const {
    return errors.find(text) != std::string::npos;
  }

  std::ostringstream out_stream, error_stream;
  int code = -1;
  std::string out, errors;
};

TEST_CASE("usage errors end with 2 and say what is wrong") {
  struct Row {
    std::vector<std::string> words;
    const char* message;
  };
  const Row rows[] = {
      {{}, "a subcommand is required"},
      {{"raport", "1"}, "raport"},
      {{"report", "abc"}, "abc"},
      // The words around the bounds are of the library's release.
      {{"report", "0"}, "4294967295"},
      {{"report", "4294967296"}, "4294967296"},
      {{"report", "1", "--yaml"}, "--yaml"},
      {{"report", "1", "--html", "f", "--json"}, "excludes"},
      {{"report", "1", "--html", "f", "--follow"}, "excludes"},
      {{"report", "1", "--html", ""}, "needs a file's name"},
      {{"report", "1", "--html"}, "--html"},
      {{"top", "now"}, "now"},
      {{"doctor", "me"}, "me"},
      {{"off", "now"}, "now"},
      {{"bench", "everything"}, "not in {allocator,analyze,ctld,submit}"},
      {{"bench", "analyze", "--jobs", "res50,bert"}, "bert not in"},
      {{"bench", "analyze", "--rounds", "0"}, "--rounds"},
      {{"jobs", "0"}, "4294967295"},
      {{"nodes", "n1"}, "n1"},
      {{"history", "--days", "0"}, "--days"},
      {{"report"}, "One of JOBID, --user, --array, --cluster"},
      {{"report", "7", "--user", "ada"}, "choose one: JOBID"},
      {{"report", "--array", "7", "--cluster"}, "choose one: JOBID"},
      {{"report", "--user", "ada", "--cluster"}, "choose one: JOBID"},
      {{"report", "--array", "0"}, "4294967295"},
      {{"report", "7", "--since", "7d"}, "--since: does not go with JOBID"},
      {{"report", "7", "--csv"}, "--csv: does not go with JOBID"},
      {{"report", "--cluster", "--follow"}, "--follow: goes with JOBID only"},
      {{"report", "--user", "--csv", "--json"}, "--csv and --json"},
      {{"report", "--since", "7d"}, "no controller is configured"},
      {{"report", "--since", "soon"}, "--since soon: allowed"},
      {{"report", "--cluster", "--since", "2w"}, "no controller is configured"},
      {{"history", "--limit", "0"}, "--limit"},
      {{"predict", "alexnet", "--cores", "-1"}, "must be 0 to 4096"},
      {{"predict", "alexnet", "--cores", "nan"}, "must be 0 to 4096"},
      {{"predict", "alexnet", "--bandwidth", "fast"}, "--bandwidth"},
      {{"simulate"}, "--trace is required"},
      {{"simulate", "--trace", "t", "--policy", "best"}, "--policy"},
      {{"simulate", "--trace", "t", "--nodes", "0"}, "--nodes"},
  };
  for (const Row& row : rows) {
    Ran ran(row.words);
    INFO(row.message);
    CHECK(ran.code == kExitUsage);
    CHECK(ran.said(row.message));
    CHECK(ran.out.empty());
  }
}

TEST_CASE("help and version") {
  Ran version({"--version"});
  CHECK(version.code == kExitOk);
  CHECK(version.out.starts_with("penstock 0."));
  CHECK(version.out.find("(built for Slurm ") != std::string::npos);
  Ran help({"report", "--help"});
  CHECK(help.code == kExitOk);
  CHECK(help.out.find("--follow") != std::string::npos);
}

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(PENSTOCK_SOURCE) + "/" + path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("manual pages and completion know every option") {
  std::string completion = text_of("tools/bash_completion");
  const std::regex option("--([a-z-]+)");
  for (const std::string command :
       {"report", "top", "jobs", "nodes", "history", "doctor", "off", "on",
        "check-config", "predict", "what-if", "publish", "simulate", "bench"}) {
    // One page has both.
    const std::string name = command == "on" ? "off" : command;
    std::string page = text_of("docs/man/penstock-" + name + ".1");
    std::string help = Ran({command, "--help"}).out;
    size_t at = completion.find("    " + command + ")");
    REQUIRE(at != std::string::npos);
    std::string words = completion.substr(at, completion.find(";;", at) - at);
    std::sregex_iterator end;
    for (std::sregex_iterator it(help.begin(), help.end(), option); it != end;
         ++it) {
      INFO(command << ' ' << it->str());
      CHECK(words.find(it->str()) != std::string::npos);
      if (it->str(1) == "help") continue;  // penstock(1) has it
      CHECK(page.find("Fl -" + it->str(1)) != std::string::npos);
    }
  }
}

TEST_CASE("top shows the node once where no terminal is") {
  ScratchDirectory directory;
  FakeAgent agent(directory.file("s"),
                  [](const penstock_status& request, FakeAnswer& answer) {
                    if (request.job_id == 0) {
                      answer.document = to_json(samples::node());
                    }
                  });
  Ran text({"top", "--socket", directory.file("s")});
  CHECK(text.code == kExitOk);
  CHECK(text.out.find("4711 alexnet") != std::string::npos);
  Ran json({"top", "--json", "--socket", directory.file("s")});
  CHECK(json.code == kExitOk);
  CHECK(parse_node_status(json.out));
  Ran nobody({"top", "--socket", directory.file("none")});
  CHECK(nobody.code == kExitNoData);
  CHECK(nobody.said("cannot be reached"));
}

TEST_CASE("the configuration names socket and directory") {
  ScratchDirectory directory;
  directory.write("c", "ReportDir=" + directory.path +
                           "\nSocketPath=" + directory.file("none") + "\n");
  directory.write("4711.json", to_json(samples::input_bound()));
  Ran ran({"report", "4711", "--config", directory.file("c")});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out == render_text(samples::input_bound()));
  Ran elsewhere({"report", "4711", "--config", directory.file("c"), "--dir",
                 directory.file("other")});
  CHECK(elsewhere.code == kExitNoData);
  CHECK(elsewhere.said("no report in " + directory.file("other")));
  Ran missing({"report", "4711", "--config", directory.file("none")});
  CHECK(missing.code == kExitNoData);
  CHECK(missing.said(directory.file("none")));
}

TEST_CASE("a controller that cannot be asked is said with what to do") {
  ScratchDirectory directory;
  directory.write("none", "Policy=fair\n");
  directory.write("here", "Controller=localhost\nMungeSocket=" +
                              directory.file("munge.sock") + "\n");
  for (const char* command : {"jobs", "nodes", "history"}) {
    Ran unset({command, "--config", directory.file("none")});
    CHECK(unset.code == kExitUsage);
    CHECK(unset.said("no controller is configured: set Controller="));
    Ran no_munge({command, "--config", directory.file("here")});
    CHECK(no_munge.code == kExitNoData);
    CHECK(no_munge.said(directory.file("munge.sock")));
    CHECK(no_munge.said("start munge"));
    Ran bad(
        {command, "--controller", ":x", "--config", directory.file("none")});
    CHECK(bad.code == kExitUsage);
    CHECK(bad.said("--controller :x"));
  }
  Ran stranger(
      {"jobs", "--user", "no-such-user", "--config", directory.file("none")});
  CHECK(stranger.code == kExitUsage);
  CHECK(stranger.said("--user no-such-user: there is no such user"));
}

TEST_CASE("publish writes every profile where slurmctld reads it") {
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
  REQUIRE(table.open(directory.file("t").c_str()) == nullptr);
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

TEST_CASE("doctor ends with 1 where something has to be put right") {
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
    CHECK((finding["remedy"] != "") == is_trouble);
  }
  ::unsetenv("SLURM_CONF");
}

// penstock.conf of a node in that directory.
void write_node(const ScratchDirectory& directory) {
  directory.write("c", "SocketPath=" + directory.file("s") +
                           "\nStateDir=" + directory.file("state") + "\n");
}

TEST_CASE("off and on tell penstockd, and off waits until all is home") {
  if (::geteuid() != 0) return;
  ScratchDirectory directory;
  write_node(directory);
  int asked = 0;
  FakeAgent agent(directory.file("s"), [&](const penstock_status& request,
                                           FakeAnswer& answer) {
    if (request.header.type != PENSTOCK_SWITCH) return;
    const bool off = request.job_id == 1;  // stands where `off` does
    ++asked;
    answer.document =
        to_json(off ? NodeSwitch{1780000000, asked == 1 ? 2u : 0u, asked < 3}
                    : NodeSwitch{std::nullopt, 1, 0});
  });
  Ran off({"off", "--config", directory.file("c")});
  CHECK(off.code == kExitOk);
  CHECK(off.out == "off since 2026-05-28 20:26:40 UTC: 2 jobs brought home\n");
  CHECK(asked == 3);
  Ran on({"on", "--config", directory.file("c")});
  CHECK(on.code == kExitOk);
  CHECK(on.out == "on: 1 managed job here\n");
  CHECK_FALSE(std::filesystem::exists(directory.file("state")));
}

TEST_CASE("off names another way where the configuration cannot be read") {
  ScratchDirectory directory;
  directory.write("c", "Socket=/x\n");
  Ran off({"off", "--config", directory.file("c")});
  CHECK(off.code == kExitUsage);
  CHECK(off.said("`systemctl stop penstockd` gives all back"));
  CHECK_FALSE(Ran({"on", "--config", directory.file("c")}).said("systemctl"));
}

TEST_CASE("without penstockd off and on leave a mark for the next one") {
  if (::geteuid() != 0) return;
  ScratchDirectory directory;
  write_node(directory);
  for (int i = 0; i < 2; ++i) {
    Ran off({"off", "--config", directory.file("c")});
    CHECK(off.code == kExitOk);
    CHECK(off.out == "penstockd does not run; when it starts it is off, by " +
                         directory.file("state/off") + "\n");
    CHECK(std::filesystem::exists(directory.file("state/off")));
  }
  for (int i = 0; i < 2; ++i) {
    Ran on({"on", "--config", directory.file("c")});
    CHECK(on.code == kExitOk);
    CHECK(on.out == "penstockd does not run; when it starts it is on\n");
    CHECK_FALSE(std::filesystem::exists(directory.file("state/off")));
  }
  REQUIRE(::chmod(directory.file("state").c_str(), 0777) == 0);
  Ran unsafe({"off", "--config", directory.file("c")});
  CHECK(unsafe.code == kExitNoData);
  CHECK(unsafe.said("must belong to root"));
}

TEST_CASE("off is refused by penstockd, and to all but root") {
  ScratchDirectory directory;
  write_node(directory);
  FakeAgent agent(directory.file("s"),
                  [](const penstock_status&, FakeAnswer& answer) {
                    answer.reply.status = ENOSPC;
                    std::strcpy(answer.reply.text, "StateDir: off: full");
                  });
  if (::geteuid() == 0) {
    Ran full({"off", "--config", directory.file("c")});
    CHECK(full.code == kExitInternal);
    CHECK(full.said("penstockd: StateDir: off: full"));
    REQUIRE(::chmod(directory.path.c_str(), 0755) == 0);
    REQUIRE(::seteuid(65534) == 0);
  }
  Ran user({"off", "--config", directory.file("c")});
  CHECK(user.code == kExitNoData);
  CHECK(user.said("only root may switch Penstock off: run sudo penstock off"));
  if (::getuid() == 0) REQUIRE(::seteuid(0) == 0);
}

TEST_CASE("check-config prints what can be read back") {
  ScratchDirectory directory;
  directory.write("c",
                  "SocketPath=/a/s\nStateDir=/b\nReportDir=/c\nProfileDir=/d\n"
                  "CgroupRoot=/e\nCgroupName=f\nPolicy=maxmin\nDefault=auto\n"
                  "LendIdle=no\nLendAcross=account\nAwayYields=no\n"
                  "MaxWeight=2.5\nSamplePeriod=500\nMinSolveInterval=70\n"
                  "ReportMinTime=12.5\nLogLevel=debug\nManagedCPUs=0-3\n"
                  "HistoryFile=/h/file\nHistoryRetention=30\n"
                  "SubmitTable=/g\nSubmitSocket=/h\nSubmitNodeCores=24\n"
                  "SubmitNodeBandwidth=2G\nSubmitOvercommit=1.5\n"
                  "SubmitComment=comment\nSubmitModel=res50\n"
                  "Pool=scratch Path=/scratch Bandwidth=200M\n");
  Ran first({"check-config", directory.file("c")});
  REQUIRE(first.code == kExitOk);
  CHECK(first.out.starts_with("# " + directory.file("c") + ": ok\n"));
  CHECK(first.out.find("Bandwidth=209715200 Shared=yes\n") !=
        std::string::npos);
  directory.write("again", first.out);
  Ran second({"check-config", directory.file("again")});
  REQUIRE(second.code == kExitOk);
  CHECK(second.out.substr(second.out.find('\n')) ==
        first.out.substr(first.out.find('\n')));
  // Every key that was given is among what is printed, with its value.
  for (const char* line : {"SocketPath=/a/s",
                           "StateDir=/b",
                           "ReportDir=/c",
                           "ProfileDir=/d",
                           "CgroupRoot=/e",
                           "CgroupName=f",
                           "Policy=maxmin",
                           "Default=auto",
                           "LendIdle=no",
                           "LendAcross=account",
                           "AwayYields=no",
                           "MaxWeight=2.5",
                           "SamplePeriod=500",
                           "MinSolveInterval=70",
                           "ReportMinTime=12.5",
                           "LogLevel=debug",
                           "ManagedCPUs=0-3",
                           "HistoryFile=/h/file",
                           "HistoryRetention=30",
                           "SubmitTable=/g",
                           "SubmitSocket=/h",
                           "SubmitNodeCores=24",
                           "SubmitNodeBandwidth=2147483648",
                           "SubmitOvercommit=1.5",
                           "SubmitComment=comment",
                           "SubmitModel=res50"}) {
    CHECK(first.out.find(std::string("\n") + line + "\n") != std::string::npos);
  }
}

TEST_CASE("check-config names file and line of an error") {
  ScratchDirectory directory;
  directory.write("c", "# ok\nPolicy=greedy\n");
  Ran ran({"check-config", directory.file("c")});
  CHECK(ran.code == kExitUsage);
  CHECK(ran.said(directory.file("c") + ":2: "));
  CHECK(ran.out.empty());
}

TEST_CASE("check-config refuses a file that others may write") {
  ScratchDirectory directory;
  directory.write("c", "");
  REQUIRE(::chmod(directory.file("c").c_str(), 0666) == 0);
  Ran ran({"check-config", directory.file("c")});
  CHECK(ran.code == kExitNoData);
}

TEST_CASE("predict reads a file and says what limits the rate") {
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

TEST_CASE("predict follows a measured curve") {
  ScratchDirectory directory;
  directory.write("p.toml",
                  "accelerator_s_per_sample = 0.001\n"
                  "rate_at_cores = [100.0, 150.0]\n");
  Ran ran({"predict", directory.file("p.toml"), "--cores", "1.5", "--json"});
  REQUIRE(ran.code == kExitOk);
  CHECK(nlohmann::json::parse(ran.out)["rate_samples_per_s"] == Approx(125));
}

TEST_CASE("predict follows a curve at its own amounts of cores") {
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

TEST_CASE("predict says unknown where the profile does") {
  ScratchDirectory directory;
  directory.write("p.toml", "accelerator_s_per_sample = 0.5\n");
  Ran ran({"predict", directory.file("p.toml"), "--cores", "1"});
  REQUIRE(ran.code == kExitOk);
  CHECK(ran.out.find("rate with that   unknown") != std::string::npos);
  CHECK(ran.out.find("storage          unknown") != std::string::npos);
}

TEST_CASE("predict names what it cannot use") {
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
