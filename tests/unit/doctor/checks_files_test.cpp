// Checks of penstock.conf and of penstockd's directories.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "shared.h"

namespace penstock::doctor {
namespace {

TEST_CASE("penstock.conf is checked with the messages of check-config") {
  FakeSite site;
  const auto check = [&] { return check_config(site.places).at(0); };
  CHECK(check().verdict == Verdict::kOk);
  CHECK(has(check().found, "the defaults hold"));
  site.places.config_is_named = true;
  CHECK(check().verdict == Verdict::kFail);
  site.write("penstock.conf", "Policy=fair\n");
  CHECK(check() == ok("penstock.conf", site.file("penstock.conf")));
  site.write("penstock.conf", "\nPolicy=greedy\n");
  CHECK(check().verdict == Verdict::kFail);
  CHECK(has(check().found, site.file("penstock.conf") + ":2: Policy=greedy"));
  CHECK(has(check().remedy, "penstock check-config"));
  site.write("penstock.conf", "GPUType=abacus\n");
  CHECK(has(check().found, "GPUType=abacus: not known"));
}

TEST_CASE("a penstock.conf that others could change is a failure") {
  FakeSite site;
  site.write("penstock.conf", "");
  REQUIRE(::chmod(site.file("penstock.conf").c_str(), 0666) == 0);
  const Finding open = check_config(site.places).at(0);
  CHECK(open.verdict == Verdict::kFail);
  CHECK(has(open.found, "run: chmod go-w " + site.file("penstock.conf")));
  if (::geteuid() != 0) return;
  REQUIRE(::chmod(site.file("penstock.conf").c_str(), 0644) == 0);
  REQUIRE(::chown(site.file("penstock.conf").c_str(), 65534, 0) == 0);
  const Finding theirs = check_config(site.places).at(0);
  CHECK(theirs.verdict == Verdict::kFail);
  CHECK(has(theirs.found, "run: chown root "));
}

struct Directories : FakeSite {
  Directories() {
    config.state_dir = file("state");
    config.report_dir = file("reports");
    config.socket_path = file("run/s");
  }
  void make(const std::string& name, mode_t mode) const {
    std::filesystem::create_directories(file(name));
    REQUIRE(::chmod(file(name).c_str(), mode) == 0);
  }
  Finding check(const char* key) const {
    return finding_of(check_directories(config), key);
  }
  Config config;
};

TEST_CASE("missing directories are only warnings") {
  Directories it;
  CHECK(it.check("StateDir").verdict == Verdict::kWarn);
  const Finding reports = it.check("ReportDir");
  CHECK(reports.verdict == Verdict::kWarn);
  CHECK(has(reports.found, "no reports are written"));
  CHECK(reports.remedy == "install -d -o root -m 0711 " + it.file("reports"));
  CHECK(it.check("SocketPath").verdict == Verdict::kWarn);
}

TEST_CASE(
    "directories that others could change, or users cannot enter, are "
    "failures") {
  Directories it;
  for (const char* name : {"state", "reports", "run"}) it.make(name, 0755);
  CHECK_FALSE(any_failed(check_directories(it.config)));
  it.make("state", 01777);
  const Finding open = it.check("StateDir");
  CHECK(open.verdict == Verdict::kFail);
  CHECK(has(open.found, "mode 1777: others could change"));
  CHECK(open.remedy == "chown root " + it.file("state") + " && chmod go-w " +
                           it.file("state"));
  it.make("reports", 0700);
  const Finding shut = it.check("ReportDir");
  CHECK(shut.verdict == Verdict::kFail);
  CHECK(shut.remedy == "chmod o+x " + it.file("reports"));
  it.make("reports", 0711);
  CHECK(it.check("ReportDir").verdict == Verdict::kOk);
  // Users need no access to it.
  it.make("state", 0700);
  CHECK(it.check("StateDir").verdict == Verdict::kOk);
  it.config.socket_path = it.file("state") + "/s";
  CHECK(it.check("StateDir").verdict == Verdict::kFail);
  it.config.socket_path = it.file("run") + "/s";
  std::filesystem::remove(it.file("run"));
  it.write("run", "a file");
  CHECK(has(it.check("SocketPath").found, "not a directory"));
  if (::geteuid() != 0) return;
  it.make("state", 0755);
  REQUIRE(::chown(it.file("state").c_str(), 65534, 0) == 0);
  CHECK(it.check("StateDir").verdict == Verdict::kFail);
}

TEST_CASE("the directory of metrics is checked only if MetricsFile is set") {
  Directories it;
  for (const Finding& finding : check_directories(it.config)) {
    CHECK(finding.check != "MetricsFile");
  }
  it.config.metrics_file = it.file("metrics") + "/penstock.prom";
  const Finding absent = it.check("MetricsFile");
  CHECK(absent.verdict == Verdict::kWarn);
  CHECK(has(absent.found, "MetricsFile=" + it.file("metrics") +
                              ": not there: no metrics are written"));
  CHECK(absent.remedy == "install -d -o root -m 0755 " + it.file("metrics"));
  it.make("metrics", 0775);
  CHECK(it.check("MetricsFile").verdict == Verdict::kFail);
  it.make("metrics", 0700);  // node_exporter runs as another user
  CHECK(it.check("MetricsFile").verdict == Verdict::kFail);
  it.make("metrics", 0755);
  CHECK(it.check("MetricsFile").verdict == Verdict::kOk);
}

TEST_CASE("a socket in StateDir adds no second check of the directory") {
  Directories it;
  it.config.socket_path = it.config.state_dir + "/s";
  CHECK(check_directories(it.config).size() == 2);
}

}  // namespace
}  // namespace penstock::doctor
