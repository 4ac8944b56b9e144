#include <sstream>

#include "tests/unit/catch.h"
#include "tools/penstock/report_jobs.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

Error error_of(const ReportJobsArguments& arguments, bool of_cluster = false) {
  std::ostringstream out;
  Terminal terminal{out};
  const Config config;  // without a controller
  const Status done = of_cluster
                          ? run_report_cluster(arguments, config, terminal)
                          : run_report_jobs(arguments, config, terminal);
  REQUIRE_FALSE(done);
  CHECK(out.str().empty());
  return done.error();
}

TEST_CASE("a report of many jobs requires a controller") {
  for (const bool of_cluster : {false, true}) {
    const Error error = error_of({}, of_cluster);
    CHECK(exit_code(error.code) == kExitUsage);
    CHECK_THAT(error.message, ContainsSubstring("Controller=") &&
                                  ContainsSubstring("--controller") &&
                                  ContainsSubstring("penstock report JOBID"));
  }
}

TEST_CASE("an invalid query is refused before any controller is asked") {
  CHECK_THAT(error_of({.since = "soon"}).message, ContainsSubstring("7d"));
  CHECK_THAT(error_of({.since = "soon"}, true).message,
             ContainsSubstring("7d"));
  CHECK_THAT(error_of({.user = "no\nbody"}).message,
             ContainsSubstring("--user no?body: there is no such user"));
  CHECK_THAT(error_of({.controller = "here:x"}).message,
             ContainsSubstring("--controller here:x"));
}

TEST_CASE("users are given by name or number") {
  CHECK(*uid_of_user("root") == 0);
  CHECK(*uid_of_user("0") == 0);
  CHECK(*uid_of_user("4711") == 4711);
  CHECK_FALSE(uid_of_user("4294967295"));
  CHECK(name_of_user(0) == "root");
  CHECK(name_of_user(4294967290) == "4294967290");
}

}  // namespace
}  // namespace penstock
