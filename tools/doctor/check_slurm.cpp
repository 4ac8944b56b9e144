// Checks Slurm's version, slurm.conf and cgroup.conf.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "common/units.h"
#include "tools/doctor/bounded.h"
#include "tools/doctor/doctor.h"

namespace penstock::doctor {
namespace {

constexpr int kProgramTimeoutMs = 5000;

// "FILE:LINE: change ..." if the key is set, else "FILE: add ...".
std::string put_in(const SlurmConf& conf, const char* key,
                   const std::string& line, const std::string& file) {
  const SlurmSetting* set = conf.find(key);
  if (set == nullptr) return fmt::format("{}: add the line {}", file, line);
  return fmt::format("{}: change {}={} to {}", set->place(), set->key,
                     set->value, line);
}

Finding check_proctrack(const SlurmConf& conf, const std::string& file) {
  // Slurm's default is what Penstock needs.
  const std::string value = conf.value_or("ProctrackType", "proctrack/cgroup");
  if (names_plugin(value, "proctrack", "cgroup")) {
    return ok("ProctrackType", value);
  }
  return fail(
      "ProctrackType",
      value + ": jobs have no control groups that Penstock could use",
      put_in(conf, "ProctrackType", "ProctrackType=proctrack/cgroup", file) +
          "; restart slurmctld and slurmd");
}

Finding check_task_plugin(const SlurmConf& conf, const std::string& file) {
  const std::string value = conf.value_or("TaskPlugin", "task/none");
  if (!names_plugin(value, "task", "cgroup")) {
    return fail("TaskPlugin", value + ": jobs are not held to their CPUs",
                put_in(conf, "TaskPlugin",
                       "TaskPlugin=task/cgroup,task/affinity", file) +
                    "; restart slurmctld and slurmd");
  }
  const bool binds = names_plugin(value, "task", "affinity");
  return ok("TaskPlugin",
            value + (binds ? ""
                           : " (without task/affinity the tasks of a step "
                             "share its CPUs)"));
}

// Same words as Slurm's Booleans.
bool is_yes(const std::string& value) {
  return std::ranges::any_of(
      std::array{"yes", "up", "true", "1"},
      [&](const char* word) { return ::strcasecmp(value.c_str(), word) == 0; });
}

Finding check_constrain_cores(const Places& places) {
  const std::string file = slurm_file(places, "cgroup.conf");
  const char* line = "ConstrainCores=yes";
  Result<SlurmConf> conf = read_slurm_conf(file, read_text);
  if (!conf) {
    return unreadable(
        "ConstrainCores", conf.error(),
        fmt::format("write {} with the line {}; restart slurmd", file, line));
  }
  const std::string value = conf->value_or("ConstrainCores", "no");
  if (is_yes(value)) {
    return ok("ConstrainCores", value);
  }
  return fail(
      "ConstrainCores",
      value + ": jobs are not confined to their CPUs, so no CPUs can be lent",
      put_in(*conf, "ConstrainCores", line, file) + "; restart slurmd");
}

}  // namespace

Result<SlurmVersion> installed_slurm() {
  Error error;
  for (const char* program : {"slurmd", "/usr/sbin/slurmd", "scontrol"}) {
    Result<std::string> text =
        output_of_program({program, "-V"}, kProgramTimeoutMs);
    if (text) return parse_slurm_version(*text);
    error = std::move(text).error();
    if (error.code != Code::kNotFound) return error;
  }
  return error;
}

Findings check_slurm_version(const Result<SlurmVersion>& installed,
                             const std::string& built_for) {
  const char* check = "slurm version";
  if (!installed) {
    if (installed.error().code == Code::kNotFound) {
      return {skip(check,
                   "Slurm is not installed here: neither slurmd nor "
                   "scontrol is in PATH")};
    }
    return {fail(check, installed.error().message,
                 "run slurmd -V and see why it does not answer")};
  }
  const std::string found = installed->to_string();
  const Result<SlurmVersion> ours = parse_slurm_version(built_for);
  if (!ours) {
    return {fail(check,
                 found + ", and Penstock was built without Slurm's headers: it "
                         "has no plugins",
                 "install the headers of Slurm " + installed->release() +
                     " (libslurm-dev), then build and install Penstock")};
  }
  if (!ours->same_release(*installed)) {
    return {fail(
        check, found + ", but Penstock was built for " + ours->to_string(),
        "build Penstock with the headers of Slurm " + installed->release() +
            " and install it, or install " + ours->release())};
  }
  return {ok(check, found + ", Penstock was built for " + ours->to_string())};
}

Findings check_slurm_conf(const Places& places) {
  if (places.slurm_conf.empty()) {
    return {skip("slurm.conf",
                 "Slurm is not configured on this node: neither "
                 "/etc/slurm/slurm.conf nor SLURM_CONF exists")};
  }
  Result<SlurmConf> conf = read_slurm_conf(places.slurm_conf, read_text);
  if (!conf) {
    return {unreadable("slurm.conf", conf.error(),
                       "set SLURM_CONF to Slurm's configuration file")};
  }
  return {ok("slurm.conf", places.slurm_conf),
          check_proctrack(*conf, places.slurm_conf),
          check_task_plugin(*conf, places.slurm_conf),
          check_constrain_cores(places)};
}

}  // namespace penstock::doctor
