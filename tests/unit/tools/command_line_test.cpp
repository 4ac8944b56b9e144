// The command line: arguments, output, messages, exit codes.
#include "tools/penstock/command_line.h"

#include "documented.h"
#include "fake_agent.h"
#include "ran.h"
#include "report/json.h"
#include "tests/unit/catch.h"
#include "tests/unit/report/samples.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

// As the command shows it, which knows users' names.
std::string shown_text(JobReport report) {
  report.user = known_name_of_user(report.user_id);
  return render_text(report);
}

TEST_CASE("usage errors exit with 2 and name the fault") {
  struct Row {
    std::vector<std::string> words;
    const char* message;
  };
  const Row rows[] = {
      {{}, "a subcommand is required"},
      {{"raport", "1"}, "raport"},
      {{"report", "abc"}, "abc"},
      // The text around the bounds depends on the library's release.
      {{"report", "0"}, "as squeue prints it"},
      {{"report", "9_"}, "\"9_\""},
      {{"report", "4294967296"}, "4294967296"},
      {{"report", "1", "--yaml"}, "--yaml"},
      {{"report", "1", "--html", "f", "--json"}, "excludes"},
      {{"report", "1", "--html", "f", "--follow"}, "excludes"},
      {{"report", "1", "--html", ""}, "needs a file's name"},
      {{"report", "1", "--html"}, "--html"},
      {{"top", "now"}, "now"},
      {{"doctor", "me"}, "me"},
      {{"off", "now"}, "now"},
      {{"lmdb", "bench"}, "DB"},
      {{"jobs", "0"}, "4294967295"},
      {{"nodes", "n1"}, "n1"},
      {{"history", "--days", "0"}, "--days"},
      {{"top", "--sort", "JOB", "--socket", "/s"}, "--socket: does not go"},
      {{"top", "--cluster"}, "no controller is configured"},
      {{"report"}, "one of JOBID, --user, --array, --cluster"},
      {{"report", "7", "--user", "ada"}, "choose one: JOBID"},
      {{"report", "--array", "7", "--cluster"}, "choose one: JOBID"},
      {{"report", "--user", "ada", "--cluster"}, "choose one: JOBID"},
      {{"report", "--array", "0"}, "4294967295"},
      {{"report", "7", "--since", "7d"}, "--since: does not go with JOBID"},
      {{"report", "7", "--csv", "--html", "x"}, "--csv and --html"},
      {{"report", "7", "--csv", "--summary"}, "--csv and --summary"},
      {{"report", "--user", "--summary"}, "--summary: allowed with JOBID only"},
      {{"report", "--user", "--html", "f"},
       "--html: allowed with JOBID or --cluster only"},
      {{"report", "--cluster", "--follow"},
       "--follow: allowed with JOBID only"},
      {{"report", "--user", "--csv", "--json"}, "--csv and --json"},
      {{"report", "--since", "7d"}, "no controller is configured"},
      {{"report", "--since", ""}, "--since : allowed: 30m"},
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

TEST_CASE("--version and --help print to standard output") {
  Ran version({"--version"});
  CHECK(version.code == kExitOk);
  CHECK(version.out.starts_with("penstock 0."));
  CHECK(version.out.find("(built for Slurm ") != std::string::npos);
  Ran help({"report", "--help"});
  CHECK(help.code == kExitOk);
  CHECK(help.out.find("--follow") != std::string::npos);
}

TEST_CASE("manual pages name every option") {
  for (const std::string command :
       {"report", "top", "jobs", "nodes", "history", "doctor", "off", "on",
        "check-config", "advise", "predict", "what-if", "publish",
        "simulate"}) {
    // `off` and `on` share a page.
    const std::string name = command == "on" ? "off" : command;
    check_documented(command, name, Ran({command, "--help"}).out);
  }
}

TEST_CASE("without a terminal top shows the node once") {
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

TEST_CASE("the configuration sets socket and report directory") {
  ScratchDirectory directory;
  directory.write("c", "ReportDir=" + directory.path +
                           "\nSocketPath=" + directory.file("none") + "\n");
  directory.write("4711.json", to_json(samples::input_bound()));
  Ran ran({"report", "4711", "--config", directory.file("c")});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out == shown_text(samples::input_bound()));
  Ran elsewhere({"report", "4711", "--config", directory.file("c"), "--dir",
                 directory.file("other")});
  CHECK(elsewhere.code == kExitNoData);
  CHECK(elsewhere.said("no report in " + directory.file("other")));
  Ran missing({"report", "4711", "--config", directory.file("none")});
  CHECK(missing.code == kExitNoData);
  CHECK(missing.said(directory.file("none")));
}

TEST_CASE("the error for an unavailable controller names the remedy") {
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

}  // namespace
}  // namespace penstock
