// `penstock doctor`: checks Penstock on this node.
#include <ostream>

#include "common/host_name.h"
#include "tools/doctor/doctor.h"
#include "tools/penstock/command.h"

namespace penstock {

int run_doctor(const DoctorArguments& arguments, Terminal& terminal) {
  doctor::Places places;
  places.config_is_named = !arguments.config_path.empty();
  places.config_path =
      places.config_is_named ? arguments.config_path : kConfigPath;
  places.slurm_conf = doctor::find_slurm_conf();
  places.plugin_dir = PENSTOCK_SLURM_PLUGIN_DIR;
  places.this_host = host_name();
  places.version = PENSTOCK_VERSION;
  places.built_for_slurm = PENSTOCK_SLURM_VERSION;
  const doctor::Findings findings = doctor::examine(places);
  terminal.out << (arguments.json
                       ? doctor::to_json(findings)
                       : doctor::render_findings(findings, terminal.style));
  return doctor::any_failed(findings) ? kExitInternal : kExitOk;
}

}  // namespace penstock
