#include "tools/doctor/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>

#include "cgroup/attach_lock.h"
#include "common/whole_file.h"
#include "tools/doctor/bounded.h"
#include "tools/penstock/read_file.h"

namespace penstock::doctor {
namespace {

constexpr size_t kMaxTextBytes = size_t{4} << 20;
constexpr int kLookTimeoutMs = 10'000;
// Up to eight controllers may each time out after 3 s.
constexpr int kControllerTimeoutMs = 40'000;
// slurmd keeps the files from its controller here until its next start.
constexpr std::string_view kSentDirectory = "/run/slurm/conf/";

// Runs one part in a child and adds its findings; a hang is a finding too.
void look(Findings& all, const std::string& part, int timeout_ms,
          const std::function<Findings()>& check) {
  Result<std::string> text = output_of(part, timeout_ms, [&](int out) {
    (void)write_whole(out, to_json(check()));
  });
  Result<Findings> findings =
      text ? parse_findings(*text) : Result<Findings>(text.error());
  if (!findings) {
    all.push_back(fail(part, findings.error().message,
                       "see which file system or daemon hangs: df, mount, "
                       "journalctl -u penstockd"));
    return;
  }
  all.insert(all.end(), std::make_move_iterator(findings->begin()),
             std::make_move_iterator(findings->end()));
}

// Defaults for a faulty file, which check_config() reports.
Config config_or_defaults(const Places& places) {
  return load_config(places.config_path).value_or(Config{});
}

Findings check_user() {
  if (::geteuid() == 0) return {};
  return {skip(
      "user", fmt::format("run by user {}: what only root may read is left out",
                          ::geteuid()))};
}

}  // namespace

std::string find_slurm_conf() {
  const char* named = std::getenv("SLURM_CONF");
  if (named != nullptr && *named != '\0') return named;
  const Result<std::string> found =
      output_of("slurm.conf", kLookTimeoutMs, [](int out) {
        for (const std::string& path :
             {std::string("/etc/slurm/slurm.conf"),
              std::string(kSentDirectory) + "slurm.conf"}) {
          if (::access(path.c_str(), F_OK) != 0) continue;
          (void)!::write(out, path.data(), path.size());
          return;
        }
      });
  // If the search hangs, the checks that read the file report that.
  return found ? *found : "/etc/slurm/slurm.conf";
}

Result<std::string> read_text(const std::string& path) {
  return read_file(path, kMaxTextBytes);
}

std::string slurm_file(const Places& places, const std::string& name) {
  return (std::filesystem::path(places.slurm_conf).parent_path() / name)
      .string();
}

Finding for_configless(Finding finding) {
  std::string& remedy = finding.remedy;
  const size_t at = remedy.find(kSentDirectory);
  if (at == std::string::npos) return finding;
  remedy.replace(at, kSentDirectory.size(), "the controller's /etc/slurm/");
  remedy += ", after scontrol reconfigure";
  return finding;
}

Findings examine(const Places& places) {
  Findings all = check_user();
  const Result<SlurmVersion> version = installed_slurm();
  const Installed slurm =
      version ? Installed(*version) : Installed(std::nullopt);
  const auto add = [&](const char* part, const std::function<Findings()>& check,
                       int timeout_ms = kLookTimeoutMs) {
    look(all, part, timeout_ms, check);
  };
  add("slurm version",
      [&] { return check_slurm_version(version, places.built_for_slurm); });
  add("plugin",
      [&] { return check_plugin(places, config_or_defaults(places), slurm); });
  add("slurm.conf", [&] { return check_slurm_conf(places); });
  add("job_submit", [&] { return check_job_submit(places, slurm); });
  add("penstock.conf", [&] { return check_config(places); });
  add("kernel", [&] {
    return check_kernel(kernel_release(),
                        config_or_defaults(places).always_moves);
  });
  add("cgroup", [&] {
    return check_cgroup(places, config_or_defaults(places).cgroup_root, slurm);
  });
  add("directories",
      [&] { return check_directories(config_or_defaults(places)); });
  add("penstockd",
      [&] { return check_agent(config_or_defaults(places), places.version); });
  add(
      "controller",
      [&] {
        return check_controller(config_or_defaults(places), places.version);
      },
      kControllerTimeoutMs);
  std::ranges::transform(all, all.begin(), for_configless);
  return all;
}

}  // namespace penstock::doctor
