// Checks of Slurm's version, files and plugins: findings and remedies.
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "shared.h"

namespace penstock::doctor {
namespace {

TEST_CASE("Slurm's version is compared by release") {
  const auto check = [](const Result<SlurmVersion>& version,
                        const char* built_for) {
    return check_slurm_version(version, built_for).at(0);
  };
  CHECK(check(kBookworm, "22.05.8").verdict == Verdict::kOk);
  CHECK(check(kBookworm, "22.05.2").verdict == Verdict::kOk);
  const Finding other = check(kBookworm, "24.11.5");
  CHECK(other.verdict == Verdict::kFail);
  CHECK(other.found == "22.05.8, but Penstock was built for 24.11.5");
  CHECK(has(other.remedy, "headers of Slurm 22.05 "));
  const Finding no_plugins = check(kBookworm, "none");
  CHECK(no_plugins.verdict == Verdict::kFail);
  CHECK(has(no_plugins.remedy, "libslurm-dev"));
  const Finding none =
      check(Error{Code::kNotFound, 0, "scontrol: no such program"}, "22.05.8");
  CHECK(none.verdict == Verdict::kSkip);
  CHECK(has(none.found, "Slurm is not installed"));
  const Finding late =
      check(Error{Code::kUnavailable, 0, "slurmd: not done within 5000 ms"},
            "22.05.8");
  CHECK(late.verdict == Verdict::kFail);
  CHECK(late.found == "slurmd: not done within 5000 ms");
}

TEST_CASE("without a configuration of Slurm none of its checks fails") {
  Places nowhere;
  CHECK_FALSE(any_failed(check_slurm_conf(nowhere)));
  CHECK_FALSE(any_failed(check_plugin(nowhere, {}, {})));
  CHECK(check_job_submit(nowhere, {}).empty());
  CHECK(has(check_slurm_conf(nowhere).at(0).found, "not configured"));
}

TEST_CASE("SLURM_CONF selects the file, and a missing file is a failure") {
  FakeSite site;
  ::setenv("SLURM_CONF", site.file("slurm.conf").c_str(), 1);
  CHECK(find_slurm_conf() == site.file("slurm.conf"));
  ::unsetenv("SLURM_CONF");
  const Finding missing = check_slurm_conf(site.places).at(0);
  CHECK(missing.verdict == Verdict::kFail);
  CHECK(has(missing.found, site.file("slurm.conf") + ": No such file"));
  CHECK(has(missing.remedy, "SLURM_CONF"));
}

TEST_CASE(
    "the remedy for files of a configless node names those of the controller") {
  const Finding told = for_configless(
      fail("ConstrainCores", "no",
           "/run/slurm/conf/cgroup.conf:3: change ConstrainCores=no to "
           "ConstrainCores=yes; restart slurmd"));
  CHECK(told.remedy ==
        "the controller's /etc/slurm/cgroup.conf:3: change ConstrainCores=no "
        "to ConstrainCores=yes; restart slurmd, after scontrol reconfigure");
  const Finding other = fail("x", "y", "/etc/slurm/cgroup.conf: add a line");
  CHECK(for_configless(other).remedy == other.remedy);
}

TEST_CASE("a complete slurm.conf and cgroup.conf are ok") {
  FakeSite site;
  site.write("slurm.conf",
             "ProctrackType=proctrack/cgroup\n"
             "TaskPlugin=task/affinity,task/cgroup\n");
  site.write("cgroup.conf", "constraincores=Yes\n");
  const Findings findings = check_slurm_conf(site.places);
  CHECK(findings.size() == 4);
  for (const Finding& it : findings) {
    INFO(it.check << ": " << it.found);
    CHECK(it.verdict == Verdict::kOk);
  }
}

TEST_CASE(
    "wrong and missing settings are failures with file, line and remedy") {
  FakeSite site;
  site.write("slurm.conf",
             "\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\n");
  site.write("cgroup.conf", "ConstrainRAMSpace=yes\n");
  Findings findings = check_slurm_conf(site.places);
  const Finding track = finding_of(findings, "ProctrackType");
  CHECK(track.verdict == Verdict::kFail);
  CHECK(has(track.remedy, site.file("slurm.conf") +
                              ":2: change ProctrackType=proctrack/linuxproc to "
                              "ProctrackType=proctrack/cgroup"));
  const Finding task = finding_of(findings, "TaskPlugin");
  CHECK(task.verdict == Verdict::kFail);
  CHECK(has(task.remedy, site.file("slurm.conf") + ":3: "));
  const Finding cores = finding_of(findings, "ConstrainCores");
  CHECK(cores.verdict == Verdict::kFail);
  CHECK(has(cores.remedy,
            site.file("cgroup.conf") + ": add the line ConstrainCores=yes"));

  site.write("slurm.conf", "TaskPlugin=task/cgroup\n");
  for (const char* word : {"yes", "TRUE", "1", "up"}) {
    site.write("cgroup.conf", std::string("ConstrainCores=") + word + "\n");
    CHECK(finding_of(check_slurm_conf(site.places), "ConstrainCores").verdict ==
          Verdict::kOk);
  }
  site.write("cgroup.conf", "ConstrainCores=no\n");
  findings = check_slurm_conf(site.places);
  CHECK(finding_of(findings, "ProctrackType").verdict == Verdict::kOk);
  CHECK(has(finding_of(findings, "TaskPlugin").found, "without task/affinity"));
  CHECK(has(finding_of(findings, "ConstrainCores").remedy,
            "cgroup.conf:1: change ConstrainCores=no"));

  site.write("slurm.conf", "");
  CHECK(has(finding_of(check_slurm_conf(site.places), "TaskPlugin").remedy,
            "slurm.conf: add the line TaskPlugin=task/cgroup,task/affinity"));
  std::filesystem::remove(site.file("cgroup.conf"));
  const Finding gone =
      finding_of(check_slurm_conf(site.places), "ConstrainCores");
  CHECK(gone.verdict == Verdict::kFail);
  CHECK(has(gone.remedy, "write " + site.file("cgroup.conf")));
}

TEST_CASE(
    "a missing or wrong configuration of the plugin is found with its remedy") {
  FakeSite site;
  site.write("slurm.conf", "");
  const Finding none = check_plugin(site.places, {}, {}).at(0);
  CHECK(none.verdict == Verdict::kFail);
  CHECK(has(none.remedy, site.file("plugstack.conf") +
                             ": add the line: optional " +
                             site.places.plugin_dir + "/spank_penstock.so"));

  site.write("plugstack.conf", "include plugstack.conf.d/*.conf\n");
  site.write("plugstack.conf.d/a.conf", "optional other.so\n");
  const Finding without = check_plugin(site.places, {}, {}).at(0);
  CHECK(without.verdict == Verdict::kFail);
  CHECK(has(without.found, "do not name spank_penstock.so"));

  site.write("plugstack.conf.d/b.conf", "\nrequired spank_penstock.so\n");
  const Findings required = check_plugin(site.places, {}, {});
  CHECK(required.at(0).verdict == Verdict::kWarn);
  CHECK(required.at(0).remedy == site.file("plugstack.conf.d/b.conf") +
                                     ":2: change required to optional");
  const Finding missing = finding_of(required, "plugin");
  CHECK(missing.verdict == Verdict::kFail);
  CHECK(has(missing.found, site.file("spank_penstock.so") + ": No such file"));
  CHECK(has(missing.remedy, "PluginDir"));
}

TEST_CASE("the plugin's arguments are compared with penstock.conf") {
  FakeSite site;
  site.write("slurm.conf", "");
  Config config;
  const auto check = [&](const std::string& arguments) {
    site.write("plugstack.conf",
               "optional spank_penstock.so " + arguments + "\n");
    Findings findings = check_plugin(site.places, config, {});
    findings.erase(findings.begin(), findings.begin() + 2);
    return findings;
  };
  const std::string place = site.file("plugstack.conf") + ":1: ";
  CHECK(check("").empty());
  CHECK(check("max_weight=4").at(0).remedy == place + "write max_weight=1");
  const Finding unknown = check("colour=blue").at(0);
  CHECK(unknown.verdict == Verdict::kWarn);
  CHECK(has(unknown.found, "colour"));
  config.socket_path = "/run/other.sock";
  const Finding apart = check("").at(0);
  CHECK(apart.verdict == Verdict::kFail);
  CHECK(apart.remedy == place + "write socket=/run/other.sock");
  CHECK(check("socket=/run/other.sock").empty());
  config.lend_across = LendAcross::kAccount;
  CHECK(has(check("socket=/run/other.sock").at(0).remedy,
            "add the line optional " + site.places.plugin_dir +
                "/spank_penstock_account.so"));
}

TEST_CASE("a plugin's release is compared with Slurm's") {
  FakeSite site;
  std::filesystem::create_directory(site.file("plugins"));
  std::filesystem::copy(PENSTOCK_FAKE_PLUGIN,
                        site.file("plugins/spank_penstock.so"));
  site.write("slurm.conf", "PlugStackConfig=" + site.file("p.conf") +
                               "\nPluginDir=/nowhere:" + site.file("plugins") +
                               "\n");
  site.write("p.conf", "optional spank_penstock.so\n");
  const auto check = [&](const Installed& slurm) {
    const Findings findings = check_plugin(site.places, {}, slurm);
    CHECK(findings.at(0).verdict == Verdict::kOk);
    return finding_of(findings, "plugin");
  };
  const Finding other = check(kBookworm);
  CHECK(other.verdict == Verdict::kFail);
  CHECK(other.found == site.file("plugins/spank_penstock.so") +
                           ", for Slurm 24.11.5; installed is 22.05.8");
  CHECK(has(other.remedy, "headers of Slurm 22.05 "));
  CHECK(check(SlurmVersion{24, 11, 0}).verdict == Verdict::kOk);
  CHECK(has(check({}).found, "is unknown"));

  site.write("plugins/spank_penstock.so", "no ELF file");
  const Finding broken = check(kBookworm);
  CHECK(broken.verdict == Verdict::kFail);
  CHECK(has(broken.found, "no ELF file"));
}

TEST_CASE("job_submit's plugin must have exactly Slurm's version") {
  FakeSite site;
  site.write("slurm.conf", "JobSubmitPlugins=lua\n");
  CHECK(check_job_submit(site.places, {}).at(0).verdict == Verdict::kSkip);
  site.write("slurm.conf", "JobSubmitPlugins=lua,penstock\n");
  const Finding missing = check_job_submit(site.places, {}).at(0);
  CHECK(missing.verdict == Verdict::kFail);
  CHECK(has(missing.found, "job_submit_penstock.so"));
  std::filesystem::copy(PENSTOCK_FAKE_PLUGIN,
                        site.file("job_submit_penstock.so"));
  const auto verdict = [&](int micro) {
    return check_job_submit(site.places, SlurmVersion{24, 11, micro})
        .at(0)
        .verdict;
  };
  CHECK(verdict(5) == Verdict::kOk);
  CHECK(verdict(4) == Verdict::kFail);
}

TEST_CASE("job_submit's plugin may be missing on hosts without slurmctld") {
  FakeSite site;
  site.places.this_host = "node7.example.org";
  const auto found = [&](const std::string& hosts) {
    site.write("slurm.conf", "JobSubmitPlugins=penstock\n" + hosts);
    return check_job_submit(site.places, {}).at(0);
  };
  const Finding elsewhere =
      found("SlurmctldHost=head1(10.0.0.1)\nSlurmctldHost=head2\n");
  CHECK(elsewhere.verdict == Verdict::kSkip);
  CHECK(has(elsewhere.found, "slurmctld runs on other hosts"));
  CHECK(found("").verdict == Verdict::kFail);  // the host is unknown
  for (const char* here :
       {"node7", "node7(10.0.0.7)", "NODE7.example.org", "localhost"}) {
    INFO(here);
    CHECK(
        found(std::string("SlurmctldHost=head1\nslurmctldhost=") + here + "\n")
            .verdict == Verdict::kFail);
  }
  CHECK(found("SlurmctldHost=node70\n").verdict == Verdict::kSkip);
}

}  // namespace
}  // namespace penstock::doctor
