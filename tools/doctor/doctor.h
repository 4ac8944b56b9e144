// `penstock doctor`: checks everything that Penstock needs on a node. Each part
// runs in a child process with a time limit, so that a hanging file system or
// daemon becomes a finding. Changes nothing.
//
//   check_slurm.cpp   Slurm's version, slurm.conf, cgroup.conf
//   check_plugin.cpp  plugstack.conf and the plugins' files
//   check_kernel.cpp  the kernel's release
//   check_cgroup.cpp  the control groups
//   check_files.cpp   penstock.conf, directories
//   check_daemon.cpp  penstockd, penstockctld
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.h"
#include "tools/doctor/finding.h"
#include "tools/doctor/slurm_conf.h"
#include "tools/doctor/slurm_version.h"

namespace penstock::doctor {

// Places on this machine, and properties of this build.
struct Places {
  std::string config_path;       // penstock.conf
  bool config_is_named = false;  // by the user, so it must exist
  std::string slurm_conf;        // "": Slurm is not configured here
  std::string plugin_dir;        // Slurm's, if slurm.conf sets none
  std::string this_host;         // from gethostname()
  std::string mount_table = "/proc/self/mounts";
  std::string version;          // of this Penstock
  std::string built_for_slurm;  // "none": without Slurm's headers
};

// SLURM_CONF, else the file that slurmd would find; "" if there is none.
std::string find_slurm_conf();

Findings examine(const Places& places);

// The parts of examine(). slurm: the installed version, if known.
using Installed = std::optional<SlurmVersion>;

// The version that slurmd or scontrol prints.
// Errors: kNotFound  Slurm is not installed; others: they cannot be run.
[[nodiscard]] Result<SlurmVersion> installed_slurm();
Findings check_slurm_version(const Result<SlurmVersion>& installed,
                             const std::string& built_for);
Findings check_slurm_conf(const Places& places);
Findings check_plugin(const Places& places, const Config& config,
                      const Installed& slurm);
Findings check_job_submit(const Places& places, const Installed& slurm);
// release: as of uname(2).
Findings check_kernel(const std::string& release, bool always_moves);
// root: CgroupRoot.
Findings check_cgroup(const Places& places, const std::string& root,
                      const Installed& slurm);
Findings check_config(const Places& places);
Findings check_directories(const Config& config);
Findings check_agent(const Config& config, const std::string& version);
Findings check_controller(const Config& config, const std::string& version);

// Shared by the checks.
Result<std::string> read_text(const std::string& path);
std::string slurm_file(const Places& places, const std::string& name);
// Adapts a finding on a configless node. Its files come from the controller, so
// a local change would be lost at slurmd's next start. The remedy therefore
// names the controller's files.
Finding for_configless(Finding finding);

}  // namespace penstock::doctor
