// Checks of penstockd and penstockctld, with and without an answer.
#include <sys/stat.h>

#include "common/state_dir.h"
#include "report/json.h"
#include "shared.h"
#include "tests/unit/report/samples.h"
#include "tests/unit/tools/fake_agent.h"

namespace penstock::doctor {
namespace {

Config config_of(const ScratchDirectory& scratch) {
  Config config;
  config.socket_path = scratch.file("s");
  config.state_dir = scratch.file("state");
  return config;
}

Findings check(FakeAgent::Handler handler, const std::string& version,
               mode_t mode = 0666) {
  ScratchDirectory scratch;
  FakeAgent agent(scratch.file("s"), std::move(handler));
  REQUIRE(::chmod(scratch.file("s").c_str(), mode) == 0);
  return check_agent(config_of(scratch), version);
}

void answer_node(const penstock_status&, FakeAnswer& answer) {
  answer.document = to_json(samples::node());
}

TEST_CASE("a penstockd of this version is ok, of another version a warning") {
  const std::string theirs = samples::node().version;
  const Findings same = check(answer_node, theirs);
  CHECK(finding_of(same, "socket").verdict == Verdict::kOk);
  CHECK(finding_of(same, "penstockd").verdict == Verdict::kOk);
  CHECK(has(finding_of(same, "penstockd").found, samples::node().node));
  const Finding other = finding_of(check(answer_node, "9.9.9"), "penstockd");
  CHECK(other.verdict == Verdict::kWarn);
  CHECK(other.found == "runs " + theirs + ", but this command is of 9.9.9");
}

TEST_CASE("idle CPUs that are not lent are a warning with the reason") {
  const std::string version = samples::node().version;
  CHECK(finding_of(check(answer_node, version), "idle CPUs").verdict ==
        Verdict::kOk);
  const auto unknown = [](const penstock_status&, FakeAnswer& answer) {
    NodeStatus status = samples::node();
    status.idle_not_lent = "slurmctld is down";
    answer.document = to_json(status);
  };
  const Finding found = finding_of(check(unknown, version), "idle CPUs");
  CHECK(found.verdict == Verdict::kWarn);
  CHECK(has(found.found, "slurmctld is down"));
  CHECK(has(found.remedy, "ManagedCPUs="));
}

TEST_CASE("a silent penstockd and an invalid answer are failures") {
  const auto silent = [](const penstock_status&, FakeAnswer& answer) {
    answer.silent = true;
  };
  const Finding late = finding_of(check(silent, "1"), "penstockd");
  CHECK(late.verdict == Verdict::kFail);
  CHECK(has(late.found, "does not answer"));
  const auto wrong = [](const penstock_status&, FakeAnswer& answer) {
    answer.document = "{}";
  };
  CHECK(finding_of(check(wrong, "1"), "penstockd").verdict == Verdict::kFail);
}

TEST_CASE("a missing, closed or false socket is a failure") {
  ScratchDirectory scratch;
  const Finding missing = check_agent(config_of(scratch), "1").at(0);
  CHECK(missing.verdict == Verdict::kFail);
  CHECK(has(missing.remedy, "systemctl enable --now penstockd"));
  scratch.write("s", "a file");
  CHECK(has(check_agent(config_of(scratch), "1").at(0).found, "not a socket"));
  const Findings shut = check(answer_node, "1", 0600);
  REQUIRE(shut.size() == 1);
  CHECK(shut[0].verdict == Verdict::kFail);
  CHECK(shut[0].remedy.starts_with("chmod 0666 "));
}

TEST_CASE("a node that is switched off is a warning, even without penstockd") {
  ScratchDirectory scratch;
  const Config config = config_of(scratch);
  const auto dir = open_state_dir(config.state_dir);
  REQUIRE(dir);
  CHECK(finding_of(check_agent(config, "1"), "switch") == ok("switch", "on"));
  REQUIRE(mark_off(dir->get()));
  const Finding off = finding_of(check_agent(config, "1"), "switch");
  CHECK(off.verdict == Verdict::kWarn);
  CHECK(has(off.found, "off since 2"));
  CHECK(has(off.found, scratch.file("state/off")));
  CHECK(off.remedy == "penstock on");
}

TEST_CASE("without Controller= the controller's check is skipped") {
  const Findings findings = check_controller(Config{}, "1");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].verdict == Verdict::kSkip);
}

TEST_CASE("munge is checked before the controller") {
  Config config;
  config.controllers = {{"localhost", 6830}};
  config.munge_socket = "/nowhere/munge.socket";
  const Findings findings = check_controller(config, "1");
  REQUIRE(findings.size() == 3);
  CHECK(findings[2].check == "munge");
  CHECK(findings[2].verdict == Verdict::kFail);
  CHECK(has(findings[2].found, "/nowhere/munge.socket"));
}

TEST_CASE("the daemons' accounts are shown, and a missing one is no failure") {
  Config config;
  config.controllers = {{"localhost", 6830}};
  config.munge_socket = "/nowhere/munge.socket";
  config.controller_user = "64031";
  config.agent_user = "no-such-account-of-penstock";
  const Findings findings = check_controller(config, "1");
  CHECK(findings.at(0) ==
        ok("accounts", "ControllerUser=64031 (user 64031 here)"));
  CHECK(findings.at(1) ==
        ok("accounts",
           "AgentUser=no-such-account-of-penstock: there is no such account "
           "here: only root is trusted"));
}

TEST_CASE("examine() checks every part") {
  ScratchDirectory scratch;
  FakeSite site;
  site.write("penstock.conf", "SocketPath=" + scratch.file("s") + "\n");
  FakeAgent agent(scratch.file("s"), answer_node);
  REQUIRE(::chmod(scratch.file("s").c_str(), 0666) == 0);
  site.places.slurm_conf = "";
  site.places.version = samples::node().version;
  site.places.built_for_slurm = "none";
  const Findings findings = examine(site.places);
  CHECK(finding_of(findings, "penstockd").verdict == Verdict::kOk);
  CHECK(finding_of(findings, "penstock.conf").verdict == Verdict::kOk);
  CHECK(finding_of(findings, "plugstack.conf").verdict == Verdict::kSkip);
}

}  // namespace
}  // namespace penstock::doctor
