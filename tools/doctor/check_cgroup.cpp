// Checks the control groups: version, controllers, and write access.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cgroup/mounts.h"
#include "cgroup/v2_layout.h"
#include "common/text_scan.h"
#include "tools/doctor/doctor.h"

namespace penstock::doctor {
namespace {

constexpr const char* kCheck = "cgroup";
// From this release on Slurm can enable io for jobs itself.
constexpr SlurmVersion kEnablesIo{25, 5, 0};

bool has_option(const MountEntry& mount, std::string_view option) {
  return std::find(mount.options.begin(), mount.options.end(), option) !=
         mount.options.end();
}

// The mount of a v1 controller below root; nullptr: none.
const MountEntry* v1_mount(const std::vector<MountEntry>& mounts,
                           std::string_view controller,
                           const std::string& root) {
  const auto found =
      std::find_if(mounts.begin(), mounts.end(), [&](const MountEntry& it) {
        return it.type == "cgroup" && has_option(it, controller) &&
               mount_below(it.target, root);
      });
  return found == mounts.end() ? nullptr : &*found;
}

const MountEntry* unified_at(const std::vector<MountEntry>& mounts,
                             const std::string& root) {
  const std::filesystem::path wanted = std::filesystem::path(root) / "";
  const auto found =
      std::find_if(mounts.begin(), mounts.end(), [&](const MountEntry& it) {
        return it.type == "cgroup2" &&
               std::filesystem::path(it.target) / "" == wanted;
      });
  return found == mounts.end() ? nullptr : &*found;
}

Finding read_only(const MountEntry& mount) {
  return fail(kCheck,
              mount.target +
                  " is mounted read-only: penstockd could move "
                  "nothing",
              fmt::format("mount -o remount,rw {}, or start the container "
                          "that this is with writable control groups",
                          mount.target));
}

Finding not_mounted(const char* controller, const std::string& root) {
  const std::string found = fmt::format(
      "v1, but the controller {} is not mounted below {}", controller, root);
  const std::string remedy = fmt::format(
      "mkdir -p {0}/{1} && mount -t cgroup -o {1} cgroup {0}/{1}; a kernel "
      "started with cgroup_no_v1={1} or cgroup_disable={1} does not allow it",
      root, controller);
  // Without blkio, only the bandwidth of pools is not enforced.
  if (std::string_view(controller) == "blkio") {
    return warn(kCheck, found + ": pools' bandwidth is not enforced", remedy);
  }
  return fail(kCheck, found, remedy);
}

// True as well if slurm.conf does not set it or cannot be read.
bool may_count_by_cgroup(const Places& places) {
  const auto conf = read_slurm_conf(places.slurm_conf, read_text);
  const std::string by =
      conf ? conf->value_or("JobAcctGatherType", "") : std::string();
  return by.empty() || names_plugin(by, "jobacct_gather", "cgroup");
}

Findings check_v1(const Places& places, const std::vector<MountEntry>& mounts,
                  const std::string& root) {
  Findings findings;
  for (const char* controller : {"cpu", "cpuset", "blkio", "freezer"}) {
    const MountEntry* mount = v1_mount(mounts, controller, root);
    if (mount == nullptr) {
      findings.push_back(not_mounted(controller, root));
    } else if (has_option(*mount, "ro")) {
      findings.push_back(read_only(*mount));
    }
  }
  if (!findings.empty()) return findings;
  if (has_option(*v1_mount(mounts, "cpu", root), "cpuacct") &&
      may_count_by_cgroup(places)) {
    findings.push_back(warn(
        kCheck,
        "cpu and cpuacct are one hierarchy: CPUs that no job holds are lent, "
        "but one job lends to another only where Slurm does not count CPU "
        "time by control groups",
        "boot with the unified hierarchy (systemd.unified_cgroup_hierarchy=1), "
        "or set JobAcctGatherType=jobacct_gather/linux in slurm.conf"));
    return findings;
  }
  const bool hybrid =
      std::any_of(mounts.begin(), mounts.end(),
                  [](const auto& it) { return it.type == "cgroup2"; });
  return {
      ok(kCheck,
         fmt::format("{}v1 at {}: cpu, cpuset, blkio, freezer",
                     hybrid ? "hybrid, of which Penstock uses " : "", root))};
}

std::vector<std::string> directories_in(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (it->is_directory(unreadable)) out.push_back(it->path().string());
  }
  return out;
}

// Adds the scopes in the group and in slices below it, like penstockd.
void add_slurm_scopes(const std::string& group,
                      std::vector<std::string>& scopes) {
  for (const std::string& below : directories_in(group)) {
    if (is_slurm_scope(below)) scopes.push_back(below);
    if (below.ends_with(".slice")) add_slurm_scopes(below, scopes);
  }
}

// penstockd enables io in the scope; systemd must enable it above.
std::string io_remedy(const Places& places, const Installed& slurm) {
  if (slurm && *slurm >= kEnablesIo) {
    return slurm_file(places, "cgroup.conf") +
           ": add the lines EnableControllers=yes and "
           "EnableExtraControllers=io; restart slurmd";
  }
  return "/etc/systemd/system/slurmd.service.d/penstock.conf: write the lines "
         "[Service] and IOAccounting=yes; then systemctl daemon-reload && "
         "systemctl restart slurmd";
}

// Findings on a scope without cpu or cpuset; empty if it has both.
Findings check_scope(const std::string& scope, const std::string& has) {
  for (const char* controller : {"cpu", "cpuset"}) {
    if (has_word(has, controller)) continue;
    return {fail(
        kCheck,
        fmt::format("v2, but the controller {} does not reach {}: no CPUs are "
                    "lent",
                    controller, scope),
        fmt::format(
            "set Delegate=yes in slurmd's unit, take DisableControllers= from "
            "the slices above it, or set EnableControllers=yes in cgroup.conf "
            "where Slurm runs without systemd; then, with no job on the node: "
            "systemctl daemon-reload; systemctl stop slurmd {}; systemctl "
            "start slurmd",
            std::filesystem::path(scope).filename().string()))};
  }
  return {};
}

Findings check_scopes(const Places& places, const std::string& root,
                      const Installed& slurm) {
  const char* check = "cgroup io";
  std::vector<std::string> scopes;
  add_slurm_scopes(root, scopes);
  if (scopes.empty()) {
    return {skip(check, "Slurm has no scope below " + root +
                            " yet: is slurmd running?")};
  }
  for (const std::string& scope : scopes) {
    Result<std::string> has = read_text(scope + "/cgroup.controllers");
    if (!has) return {unreadable(check, has.error(), "restart slurmd")};
    Findings lacks = check_scope(scope, *has);
    if (!lacks.empty()) return lacks;
    if (has_word(*has, "io")) continue;
    return {warn(check,
                 "the controller io does not reach " + scope +
                     ": pools' bandwidth is not enforced",
                 io_remedy(places, slurm))};
  }
  return {ok(check, "reaches " + scopes.front())};
}

Findings check_v2(const Places& places, const MountEntry& mount,
                  const std::string& root, const Installed& slurm) {
  if (has_option(mount, "ro")) return {read_only(mount)};
  Result<std::string> has = read_text(root + "/cgroup.controllers");
  if (!has) {
    return {unreadable(kCheck, has.error(), "mount cgroup2 at " + root)};
  }
  for (const char* controller : {"cpu", "cpuset"}) {
    if (has_word(*has, controller)) continue;
    return {fail(
        kCheck,
        fmt::format("v2 at {}, without the controller {}", root, controller),
        "boot with systemd.unified_cgroup_hierarchy=1 and without "
        "cgroup_disable= of that controller; on a hybrid machine "
        "mount cpu and cpuset as v1")};
  }
  Findings findings = check_scopes(places, root, slurm);
  if (!any_failed(findings)) {
    findings.insert(findings.begin(),
                    ok(kCheck, "v2 at " + root + ": cpu, cpuset"));
  }
  return findings;
}

}  // namespace

Findings check_cgroup(const Places& places, const std::string& root,
                      const Installed& slurm) {
  Result<std::string> text = read_text(places.mount_table);
  if (!text) return {unreadable(kCheck, text.error(), "mount /proc")};
  Result<std::vector<MountEntry>> mounts = parse_mounts(*text);
  if (!mounts) {
    return {fail(kCheck, mounts.error().message, "see cat /proc/self/mounts")};
  }
  // The same choice as penstockd's (cgroup/machine.h).
  const bool is_v1 = v1_mount(*mounts, "cpu", root) != nullptr &&
                     v1_mount(*mounts, "cpuset", root) != nullptr;
  const MountEntry* unified = unified_at(*mounts, root);
  if (!is_v1 && unified != nullptr) {
    return check_v2(places, *unified, root, slurm);
  }
  return check_v1(places, *mounts, root);
}

}  // namespace penstock::doctor
