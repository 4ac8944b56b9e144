#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "fake_agent.h"
#include "report/html_report.h"
#include "report/json.h"
#include "tests/unit/catch.h"
#include "tests/unit/report/samples.h"
#include "tools/penstock/read_file.h"
#include "tools/penstock/report_job.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

// As the command shows it, which knows users' names.
std::string shown_text(JobReport report) {
  report.user = known_name_of_user(report.user_id);
  return render_text(report);
}

JobNumber job(uint32_t id) { return {.text = std::to_string(id), .id = id}; }

// A site with a scripted agent, and the command's output.
struct Site {
  explicit Site(FakeAgent::Handler handler)
      : agent(directory.file("s"), std::move(handler)) {
    config.socket_path = directory.file("s");
    config.report_dir = directory.path;
    terminal.refresh_ms = 1;
  }

  Status run(const ReportArguments& arguments) {
    return run_report(arguments, config, terminal);
  }

  ScratchDirectory directory;
  FakeAgent agent;
  Config config;
  std::ostringstream out;
  Terminal terminal{out};
};

void knows_nothing(const penstock_status&, FakeAnswer& answer) {
  answer.reply.status = ENOENT;
}

JobReport running() {
  JobReport report = samples::input_bound();
  report.running = true;
  report.end_unix_s.reset();
  return report;
}

TEST_CASE("a running job's report comes over the socket") {
  Site site([](const penstock_status& request, FakeAnswer& answer) {
    if (request.job_id == 4711) answer.document = to_json(running());
  });
  // An earlier run's file must not hide it (a requeued job).
  site.directory.write("4711.json", "stale");
  SECTION("as text") {
    REQUIRE(site.run({.job = job(4711)}));
    CHECK(site.out.str() == shown_text(running()));
  }
  SECTION("as JSON") {
    REQUIRE(site.run({.job = job(4711), .json = true}));
    CHECK(site.out.str() == to_json(running()));
  }
}

TEST_CASE("a finished job's file is read") {
  Site site(knows_nothing);
  site.directory.write("4711.json", to_json(samples::input_bound()));
  REQUIRE(site.run({.job = job(4711)}));
  CHECK(site.out.str() == shown_text(samples::input_bound()));
}

TEST_CASE("the parts of all nodes are one report") {
  Site site(knows_nothing);
  JobReport here = samples::input_bound();
  JobReport there = here;
  there.node = "c2";
  site.directory.make("4711");
  site.directory.write("4711/c1.json", to_json(here));
  site.directory.write("4711/c1.txt", "beside it");
  site.directory.write("4711/c2.json", to_json(there));
  SECTION("of a finished job") {
    REQUIRE(site.run({.job = job(4711)}));
    CHECK(site.out.str().starts_with("Job 4711 \"alexnet\" on c1,c2, 2 ranks"));
  }
  SECTION("without the part that is damaged, which is named") {
    site.directory.write("4711/c2.json", "half a rep");
    REQUIRE(site.run({.job = job(4711)}));
    CHECK(site.out.str().find("a part is missing, or may be: ") !=
          std::string::npos);
    CHECK(site.out.str().find("4711/c2.json") != std::string::npos);
  }
  SECTION("without the part of another job") {
    there.job_id = 5;
    site.directory.write("4711/c2.json", to_json(there));
    REQUIRE(site.run({.job = job(4711), .json = true}));
    CHECK(site.out.str().find("the report is of job 5") != std::string::npos);
  }
}

TEST_CASE("a running part is merged with those that have ended") {
  Site site([](const penstock_status&, FakeAnswer& answer) {
    answer.document = to_json(running());
  });
  JobReport there = samples::input_bound();
  there.node = "c2";
  site.directory.make("4711");
  site.directory.write("4711/c2.json", to_json(there));
  REQUIRE(site.run({.job = job(4711)}));
  CHECK(site.out.str().find("on c1,c2") != std::string::npos);
  CHECK(site.out.str().find("provisional") != std::string::npos);
}

TEST_CASE("a job whose directory is another user's has no report to read") {
  Site site(knows_nothing);
  site.directory.make("5");
  Status status = site.run({.job = job(5)});
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("no report in") != std::string::npos);
}

TEST_CASE("a finished job's file is read without penstockd too") {
  Site site(knows_nothing);
  site.config.socket_path = site.directory.file("nobody");
  site.directory.write("4711.json", to_json(samples::input_bound()));
  CHECK(site.run({.job = job(4711)}));
}

TEST_CASE("--follow continues until the job has ended") {
  int asked = 0;
  Site site([&](const penstock_status&, FakeAnswer& answer) {
    if (++asked <= 3) {
      answer.document = to_json(running());
    } else {
      answer.reply.status = ENOENT;
    }
  });
  SECTION("and shows the final report") {
    site.directory.write("4711.json", to_json(samples::input_bound()));
    REQUIRE(site.run({.job = job(4711), .follow = true}));
    std::string live = shown_text(running());
    CHECK(site.out.str() ==
          live + live + live + shown_text(samples::input_bound()));
  }
  SECTION("also for a job without a final report") {
    REQUIRE(site.run({.job = job(4711), .follow = true}));
    CHECK(asked == 4);
  }
  SECTION("and redraws a terminal") {
    site.terminal.interactive = true;
    site.directory.write("4711.json", to_json(samples::input_bound()));
    REQUIRE(site.run({.job = job(4711), .follow = true}));
    CHECK(site.out.str().starts_with("\033[H\033[J" + shown_text(running())));
  }
}

TEST_CASE("--html writes a page to a file or to standard output") {
  Site site(knows_nothing);
  const JobReport report = samples::input_bound();
  site.directory.write("4711.json", to_json(report));
  Result<JobReport> read = parse_report(to_json(report));
  REQUIRE(read);
  read->user = known_name_of_user(read->user_id);
  const std::string page = render_html(*read);
  SECTION("a file") {
    const std::string file = site.directory.file("page.html");
    REQUIRE(site.run({.job = job(4711), .html_file = file}));
    CHECK(site.out.str().empty());
    Result<std::string> written = read_file(file, kMaxHtmlBytes);
    REQUIRE(written);
    CHECK(*written == page);
  }
  SECTION("standard output") {
    REQUIRE(site.run({.job = job(4711), .html_file = "-"}));
    CHECK(site.out.str() == page);
  }
  SECTION("a folder is refused") {
    Status status = site.run({.job = job(4711), .html_file = "/tmp"});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitUsage);
  }
}

TEST_CASE("a running job's page is provisional, and an unknown job has none") {
  Site site([](const penstock_status& request, FakeAnswer& answer) {
    if (request.job_id == 4711) answer.document = to_json(running());
    if (request.job_id != 4711) answer.reply.status = ENOENT;
  });
  REQUIRE(site.run({.job = job(4711), .html_file = "-"}));
  CHECK(site.out.str().find("Provisional: the job still runs") !=
        std::string::npos);
  const std::string file = site.directory.file("none.html");
  Status status = site.run({.job = job(5), .html_file = file});
  REQUIRE_FALSE(status);
  CHECK(exit_code(status.error().code) == kExitNoData);
  CHECK_FALSE(read_file(file, 1));
}

TEST_CASE("the error for a missing report names cause and remedy") {
  Site site(knows_nothing);
  SECTION("an unknown job") {
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitNoData);
    CHECK(status.error().message.find("no report in " + site.directory.path) !=
          std::string::npos);
    CHECK(status.error().message.find("gives a --loader flag") !=
          std::string::npos);
  }
  SECTION("a missing penstockd") {
    site.config.socket_path = site.directory.file("nobody");
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitNoData);
    CHECK(status.error().message.find("cannot be reached") !=
          std::string::npos);
  }
  SECTION("a damaged file") {
    site.directory.write("5.json", "{");
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitUsage);
    CHECK(status.error().message ==
          "job 5: " + site.directory.file("5.json") +
              ": the report is not a JSON object; the file is damaged, or of "
              "another version of Penstock: the .txt beside it may have the "
              "same report, "
              "and penstock history the controller's record");
  }
  SECTION("a file larger than a report") {
    site.directory.write("5.json", std::string(kMaxReportJsonBytes + 1, ' '));
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitUsage);
  }
  SECTION("a file with a list longer than a report's") {
    JobReport report = samples::input_bound();
    report.notes.resize(kMaxReportNotes + 1);
    site.directory.write("5.json", to_json(report));
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitUsage);
  }
  SECTION("a file of another job") {
    site.directory.write("5.json", to_json(samples::input_bound()));
    Status status = site.run({.job = job(5)});
    REQUIRE_FALSE(status);
    CHECK(exit_code(status.error().code) == kExitUsage);
    CHECK(status.error().message.find("the report is of job 4711") !=
          std::string::npos);
  }
  CHECK(site.out.str().empty());
}

TEST_CASE("another user's job is refused, running or finished") {
  bool runs = GENERATE(true, false);
  Site site([runs](const penstock_status&, FakeAnswer& answer) {
    answer.reply.status = runs ? EPERM : ENOENT;
  });
  if (!runs) {
    if (::geteuid() != 0) return;  // only root can change its user
    site.directory.write("5.json", "{}");
    REQUIRE(::chmod(site.directory.file("5.json").c_str(), 0400) == 0);
    REQUIRE(::chmod(site.directory.path.c_str(), 0755) == 0);
    REQUIRE(::chmod(site.directory.file("s").c_str(), 0666) == 0);
    REQUIRE(::seteuid(65534) == 0);
  }
  Status status = site.run({.job = job(5)});
  if (!runs) REQUIRE(::seteuid(0) == 0);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kPermissionDenied);
  CHECK(status.error().message.starts_with(
      "job 5: only its user may read its report"));
}

TEST_CASE("root does not rely on a report that its user can change") {
  if (::geteuid() != 0) return;
  Site site([](const penstock_status&, FakeAnswer& answer) {
    answer.reply.status = ENOENT;
  });
  site.directory.write("4711.json", to_json(samples::input_bound()));
  REQUIRE(site.run({.job = job(4711)}));
  REQUIRE(::chown(site.directory.file("4711.json").c_str(), 65534, -1) == 0);
  const Status status = site.run({.job = job(4711)});
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message,
             Catch::Matchers::ContainsSubstring(
                 "belongs to user 65534, who may have changed it"));

  // The owner of the directory is who writes the reports there.
  REQUIRE(::chown(site.directory.path.c_str(), 65534, -1) == 0);
  CHECK(site.run({.job = job(4711)}));
  REQUIRE(::chmod(site.directory.path.c_str(), 0777) == 0);
  CHECK_FALSE(site.run({.job = job(4711)}));
}

TEST_CASE("an answer without a report is refused") {
  Site site([](const penstock_status&, FakeAnswer& answer) {
    answer.document = "[]";
  });
  Status status = site.run({.job = job(5)});
  REQUIRE_FALSE(status);
}

}  // namespace
}  // namespace penstock
