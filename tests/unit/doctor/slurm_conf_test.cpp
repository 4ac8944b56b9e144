#include "tools/doctor/slurm_conf.h"

#include <map>

#include "tests/unit/catch.h"
#include "tools/doctor/slurm_version.h"

namespace penstock::doctor {
namespace {

using Files = std::map<std::string, std::string>;

ReadText reader(const Files& files) {
  return [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return system_error(ENOENT, path);
    return found->second;
  };
}

SlurmConf conf_of(const Files& files) {
  const auto conf = read_slurm_conf("/e/slurm.conf", reader(files));
  if (!conf) FAIL(conf.error().message);
  return *conf;
}

TEST_CASE("settings are parsed by Slurm's rules") {
  const SlurmConf conf =
      conf_of({{"/e/slurm.conf",
                "# ProctrackType=proctrack/pgid\n"
                "proctracktype = proctrack/cgroup # not linuxproc\n"
                "NodeName=n1 CPUs=4 Comment=\"TaskPlugin=none # x\"\n"
                "TaskPlugin=task/cgroup,\\\n"
                "task/affinity\r\n"
                "stray words\n"
                "PluginDir=/a\nPluginDir=/b"}});
  CHECK(conf.value_or("ProctrackType", "") == "proctrack/cgroup");
  REQUIRE(conf.find("ProctrackType") != nullptr);
  CHECK(conf.find("ProctrackType")->place() == "/e/slurm.conf:2");
  CHECK(conf.value_or("TaskPlugin", "") == "task/cgroup,task/affinity");
  CHECK(conf.find("taskplugin")->place() == "/e/slurm.conf:4");
  CHECK(conf.value_or("PluginDir", "") == "/b");  // the last one counts
  CHECK(conf.find("ConstrainCores") == nullptr);
  CHECK(conf.value_or("ConstrainCores", "no") == "no");
}

TEST_CASE("settings of included files apply at the place of the include") {
  const SlurmConf conf = conf_of({{"/e/slurm.conf",
                                   "TaskPlugin=task/none\n"
                                   "INCLUDE more.conf\ninclude /x/y\n"},
                                  {"/e/more.conf", "\nTaskPlugin=task/cgroup"},
                                  {"/x/y", "PluginDir=/p"}});
  CHECK(conf.find("TaskPlugin")->place() == "/e/more.conf:2");
  CHECK(conf.value_or("PluginDir", "") == "/p");
}

TEST_CASE(
    "a missing file is named, and a file that includes itself is refused") {
  const auto none = read_slurm_conf("/e/slurm.conf",
                                    reader({{"/e/slurm.conf", "include a"}}));
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "/e/a: No such file or directory");
  const Files files = {{"/e/slurm.conf", "include slurm.conf\n"}};
  const auto endless = read_slurm_conf("/e/slurm.conf", reader(files));
  REQUIRE_FALSE(endless);
  CHECK(endless.error().code == Code::kLimit);
}

TEST_CASE("a setting after a malformed line is read") {
  for (const char* text :
       {"=", "= =", "\"", "a=\"", "a =", "###", "=\n=x\n", "\\\n\\\n"}) {
    INFO(text);
    const SlurmConf conf =
        conf_of({{"/e/slurm.conf", std::string(text) + "\nK=v\n"}});
    CHECK(conf.value_or("K", "") == "v");
  }
}

TEST_CASE("a final backslash joins the next line, or ends the file") {
  CHECK(conf_of({{"/e/slurm.conf", "\\"}}).find("K") == nullptr);
  CHECK(conf_of({{"/e/slurm.conf", "\\\nK=v\n"}}).value_or("K", "") == "v");
}

TEST_CASE("an include without a file is refused") {
  CHECK_FALSE(
      read_slurm_conf("/e/slurm.conf", reader({{"/e/slurm.conf", "include"}})));
}

TEST_CASE(
    "plugins are read from plugstack.conf and from its include patterns") {
  const Files files = {
      {"/e/plugstack.conf",
       "# required old.so\noptional /p/first.so key=value\tx \n"
       "include plugstack.conf.d/*.conf\n"},
      {"/e/plugstack.conf.d/a.conf", "\n  required\tspank_penstock.so\n"}};
  std::vector<std::string> patterns;
  const auto lines = read_plugstack(
      "/e/plugstack.conf", reader(files), [&](const std::string& pattern) {
        patterns.push_back(pattern);
        return std::vector<std::string>{"/e/plugstack.conf.d/a.conf"};
      });
  REQUIRE(lines);
  CHECK(patterns == std::vector<std::string>{"/e/plugstack.conf.d/*.conf"});
  REQUIRE(lines->size() == 2);
  CHECK_FALSE(lines->at(0).required);
  CHECK(lines->at(0).plugin == "/p/first.so");
  CHECK(lines->at(0).arguments == std::vector<std::string>{"key=value", "x"});
  CHECK(lines->at(1).required);
  CHECK(lines->at(1).arguments.empty());
  CHECK(lines->at(1).plugin == "spank_penstock.so");
  CHECK(lines->at(1).place() == "/e/plugstack.conf.d/a.conf:2");
}

TEST_CASE("a plugstack.conf that includes itself is refused") {
  const Files files = {{"/p", "include /p\n"}};
  const auto lines =
      read_plugstack("/p", reader(files), [](const std::string& pattern) {
        return std::vector<std::string>{pattern};
      });
  REQUIRE_FALSE(lines);
  CHECK(lines.error().code == Code::kLimit);
}

TEST_CASE("plugins are found in lists with and without their type") {
  CHECK(names_plugin("task/affinity,task/cgroup", "task", "cgroup"));
  CHECK(names_plugin("affinity,cgroup", "task", "cgroup"));
  CHECK(names_plugin("Task/CGroup", "task", "cgroup"));
  CHECK_FALSE(names_plugin("task/cgroups", "task", "cgroup"));
  CHECK_FALSE(names_plugin("proctrack/cgroup", "task", "cgroup"));
  CHECK_FALSE(names_plugin("", "task", "cgroup"));
}

TEST_CASE("versions are parsed in the forms of programs and plugins") {
  const auto version = [](const char* text) {
    const auto found = parse_slurm_version(text);
    return found ? found->to_string() : found.error().message;
  };
  CHECK(version("slurm-wlm 22.05.8\n") == "22.05.8");
  CHECK(version("slurm 24.11.0-0rc1") == "24.11.0");
  CHECK(version("22.05.10") == "22.05.10");
  CHECK(version("none") == "\"none\" names no version of Slurm");
  CHECK(version("slurm 22.05") == "\"slurm 22.05\" names no version of Slurm");
  CHECK(version("slurm 22.999.1").find("names no") != std::string::npos);
  CHECK(slurm_version_of(0x160508).to_string() == "22.05.8");
  CHECK(slurm_version_of(0x160508).release() == "22.05");
  CHECK(SlurmVersion{24, 11, 5} > SlurmVersion{24, 5, 9});
}

}  // namespace
}  // namespace penstock::doctor
