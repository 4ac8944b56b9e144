// `penstock doctor`: looks at everything that Penstock needs on a node. Each
// part is looked at in a child process within a bound of time, so that a file
// system or a daemon that hangs is a finding, too. Changes nothing.
//
//   check_slurm.cpp   Slurm's version, slurm.conf, cgroup.conf
//   check_plugin.cpp  plugstack.conf and the plugins' files
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

// Where things are on this machine, and what this build is.
struct Places {
  std::string config_path;       // penstock.conf
  bool config_is_named = false;  // by the user: it must be there
  std::string slurm_conf;        // "": Slurm is not configured here
  std::string plugin_dir;        // Slurm's, where slurm.conf names none
  std::string this_host;         // as gethostname() names it
  std::string mount_table = "/proc/self/mounts";
  std::string version;          // of this Penstock
  std::string built_for_slurm;  // "none": without Slurm's headers
};

// SLURM_CONF, else where slurmd finds slurm.conf itself; "" where there is
// none.
std::string find_slurm_conf();

Findings examine(const Places& places);

// What examine() is made of. slurm: the version installed, if known.
using Installed = std::optional<SlurmVersion>;

// The version that slurmd or scontrol prints.
// Errors: kNotFound  Slurm is not installed; else they cannot be run.
[[nodiscard]] Result<SlurmVersion> installed_slurm();
Findings check_slurm_version(const Result<SlurmVersion>& installed,
                             const std::string& built_for);
Findings check_slurm_conf(const Places& places);
Findings check_core_spec(const Places& places, const Config& config);
Findings check_plugin(const Places& places, const Config& config,
                      const Installed& slurm);
Findings check_job_submit(const Places& places, const Installed& slurm);
// root: CgroupRoot.
Findings check_cgroup(const Places& places, const std::string& root,
                      const Installed& slurm);
Findings check_config(const Places& places);
Findings check_directories(const Config& config);
Findings check_agent(const Config& config, const std::string& version);
Findings check_controller(const Config& config, const std::string& version);

// What the checks share.
Result<std::string> read_text(const std::string& path);
std::string slurm_file(const Places& places, const std::string& name);
// Where slurmd has its files from the controller, a change of them here would
// be lost with its next start: the remedy names the controller's.
Finding for_configless(Finding finding);

}  // namespace penstock::doctor
