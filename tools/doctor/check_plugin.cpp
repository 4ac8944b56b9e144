// Checks plugstack.conf, and the files of Penstock's plugins for Slurm.
#include <fmt/format.h>
#include <glob.h>
#include <strings.h>

#include <algorithm>
#include <filesystem>

#include "spank_plugin/settings.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/elf_symbol.h"
#include "tools/penstock/read_file.h"

namespace penstock::doctor {
namespace {

constexpr const char* kPlugin = "spank_penstock.so";
constexpr const char* kAccountPlugin = "spank_penstock_account.so";
constexpr const char* kSubmitPlugin = "job_submit_penstock.so";
constexpr size_t kMaxPluginBytes = size_t{256} << 20;

std::vector<std::string> expand_glob(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

// Slurm's search for a plugin: a path is used as it is, a name is searched in
// each directory of PluginDir. Returns the first candidate if none exists.
std::string find_plugin(const std::string& name, std::string dirs) {
  if (name.starts_with('/')) return name;
  std::string first;
  while (!dirs.empty()) {
    const size_t end = std::min(dirs.find(':'), dirs.size());
    std::string path = dirs.substr(0, end) + "/" + name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
    if (first.empty()) first = path;
    dirs.erase(0, end + 1);
  }
  return first;
}

Result<SlurmVersion> version_of_plugin(const std::string& path) {
  Result<std::string> image = read_file(path, kMaxPluginBytes);
  if (!image) return std::move(image).error();
  Result<uint32_t> number = exported_number(*image, "plugin_version");
  if (!number) return std::move(number).error().wrap(path);
  return slurm_version_of(*number);
}

// exact: the micro version must match too.
Finding check_plugin_file(const char* check, const std::string& path,
                          const Installed& slurm, bool exact) {
  const std::string reinstall = "install Penstock's build for this Slurm again";
  Result<SlurmVersion> made_for = version_of_plugin(path);
  if (!made_for) {
    if (made_for.error().code == Code::kNotFound) {
      return fail(
          check, made_for.error().message,
          fmt::format("install Penstock so that {} is there "
                      "(-DPENSTOCK_SLURM_PLUGIN_DIR={}), or set "
                      "PluginDir in slurm.conf to where it is",
                      path,
                      std::filesystem::path(path).parent_path().string()));
    }
    return unreadable(check, made_for.error(), reinstall);
  }
  const std::string found =
      fmt::format("{}, for Slurm {}", path, made_for->to_string());
  if (!slurm) return ok(check, found + "; the Slurm installed is unknown");
  const bool fits =
      exact ? *made_for == *slurm : made_for->same_release(*slurm);
  if (fits) return ok(check, found);
  return fail(check,
              fmt::format("{}; installed is {}", found, slurm->to_string()),
              fmt::format("build Penstock with the headers of Slurm {} and "
                          "install it",
                          exact ? slurm->to_string() : slurm->release()));
}

const PlugstackLine* line_of(const std::vector<PlugstackLine>& lines,
                             const char* plugin) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const PlugstackLine& it) {
        return std::filesystem::path(it.plugin).filename() == plugin;
      });
  return found == lines.end() ? nullptr : &*found;
}

Finding check_plugstack_line(const PlugstackLine& line) {
  if (!line.required) return ok("plugstack.conf", line.place() + ": optional");
  return warn("plugstack.conf",
              line.place() +
                  ": required: no job starts where the plugin cannot be loaded",
              line.place() + ": change required to optional");
}

// Compares the plugin's arguments with penstock.conf.
Findings check_arguments(const PlugstackLine& line, const Config& config) {
  const char* check = "plugin arguments";
  spank::Settings settings;
  Findings findings;
  for (const std::string& argument : line.arguments) {
    const Status applied = spank::apply_argument(argument, settings);
    if (applied) continue;
    findings.push_back(warn(
        check,
        line.place() + ": left out by the plugin: " + applied.error().message,
        line.place() + ": mend the argument " + argument));
  }
  if (settings.socket_path != config.socket_path) {
    findings.push_back(fail(
        check,
        fmt::format("{}: jobs look for penstockd at {}, which is at {}",
                    line.place(), settings.socket_path, config.socket_path),
        fmt::format("{}: write socket={}", line.place(), config.socket_path)));
  }
  if (settings.limits.max_weight != config.max_weight) {
    findings.push_back(warn(
        check,
        fmt::format("{}: users may ask for a weight of {}, MaxWeight is {}",
                    line.place(), settings.limits.max_weight,
                    config.max_weight),
        fmt::format("{}: write max_weight={}", line.place(),
                    config.max_weight)));
  }
  return findings;
}

Findings check_account_line(const std::vector<PlugstackLine>& lines,
                            const PlugstackLine& line, const Config& config,
                            const std::string& dirs) {
  if (line_of(lines, kAccountPlugin) != nullptr) return {};
  const std::string remedy =
      fmt::format("{}: add the line optional {}", line.file,
                  find_plugin(kAccountPlugin, dirs));
  Findings findings;
  if (config.lend_across == LendAcross::kAccount) {
    findings.push_back(
        warn("LendAcross",
             "account, but no line of plugstack.conf tells penstockd the "
             "accounts: CPUs are lent between one user's jobs",
             remedy));
  }
  if (names_origins(config.modes)) {
    findings.push_back(warn(
        "Mode",
        "names partitions or accounts, but no line of plugstack.conf tells "
        "penstockd a job's: observe lines hold for every job, on lines for "
        "none",
        remedy));
  }
  return findings;
}

// "node7" from "node7.example.org" and from SlurmctldHost's "node7(10.0.0.7)".
std::string short_name(const std::string& host) {
  return host.substr(0, host.find_first_of(".("));
}

// True as well if slurm.conf names no SlurmctldHost.
bool may_run_slurmctld(const SlurmConf& conf, const std::string& host) {
  bool said = false;
  for (const SlurmSetting& setting : conf.settings) {
    if (::strcasecmp(setting.key.c_str(), "SlurmctldHost") != 0) continue;
    said = true;
    const std::string name = short_name(setting.value);
    if (name == "localhost" ||
        ::strcasecmp(name.c_str(), short_name(host).c_str()) == 0) {
      return true;
    }
  }
  return !said;
}

// slurm.conf; empty if it cannot be read, which check_slurm_conf() reports.
SlurmConf conf_of(const Places& places) {
  return read_slurm_conf(places.slurm_conf, read_text).value_or(SlurmConf{});
}

}  // namespace

Findings check_plugin(const Places& places, const Config& config,
                      const Installed& slurm) {
  if (places.slurm_conf.empty()) {
    return {skip("plugstack.conf", "Slurm is not configured here")};
  }
  const SlurmConf conf = conf_of(places);
  const std::string file =
      conf.value_or("PlugStackConfig", slurm_file(places, "plugstack.conf"));
  const std::string dirs = conf.value_or("PluginDir", places.plugin_dir);
  // Name the full path: for a bare name of a plugin of another release Slurm
  // reports that the file does not exist.
  const std::string add =
      fmt::format("{}: add the line: optional {}; then restart slurmd", file,
                  find_plugin(kPlugin, dirs));
  const auto lines = read_plugstack(file, read_text, expand_glob);
  if (!lines) return {unreadable("plugstack.conf", lines.error(), add)};
  const PlugstackLine* line = line_of(*lines, kPlugin);
  if (line == nullptr) {
    return {fail("plugstack.conf",
                 fmt::format("{} and its include files do not name {}: jobs "
                             "run without Penstock",
                             file, kPlugin),
                 add)};
  }
  const std::string path = find_plugin(line->plugin, dirs);
  Findings findings = {check_plugstack_line(*line),
                       check_plugin_file("plugin", path, slurm, false)};
  for (Findings more : {check_arguments(*line, config),
                        check_account_line(*lines, *line, config, dirs)}) {
    findings.insert(findings.end(), more.begin(), more.end());
  }
  return findings;
}

Findings check_job_submit(const Places& places, const Installed& slurm) {
  const char* check = "job_submit";
  if (places.slurm_conf.empty()) return {};
  const SlurmConf conf = conf_of(places);
  if (!names_plugin(conf.value_or("JobSubmitPlugins", ""), "job_submit",
                    "penstock")) {
    return {skip(check, "JobSubmitPlugins does not name penstock")};
  }
  const std::string path =
      find_plugin(kSubmitPlugin, conf.value_or("PluginDir", places.plugin_dir));
  // Only slurmctld loads it, but all hosts share slurm.conf.
  std::error_code error;
  if (!std::filesystem::exists(path, error) &&
      !may_run_slurmctld(conf, places.this_host)) {
    return {skip(check, path + " is not here, and slurmctld runs on other "
                               "hosts, which need it")};
  }
  return {check_plugin_file(check, path, slurm, true)};
}

}  // namespace penstock::doctor
