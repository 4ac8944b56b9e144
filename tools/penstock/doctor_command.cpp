// `penstock doctor`: checks Penstock on this node.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "common/host_name.h"
#include "tools/doctor/doctor.h"
#include "tools/penstock/commands.h"

namespace penstock {
namespace {

struct DoctorOptions {
  std::string config_path;  // "": kConfigPath, which may be missing
  bool json = false;
};

Status run_doctor(const DoctorOptions& options, Terminal& terminal) {
  doctor::Places places;
  places.config_is_named = !options.config_path.empty();
  places.config_path =
      places.config_is_named ? options.config_path : kConfigPath;
  places.slurm_conf = doctor::find_slurm_conf();
  places.plugin_dir = PENSTOCK_SLURM_PLUGIN_DIR;
  places.this_host = host_name();
  places.version = PENSTOCK_VERSION;
  places.built_for_slurm = PENSTOCK_SLURM_VERSION;
  const doctor::Findings findings = doctor::examine(places);
  terminal.out << (options.json
                       ? doctor::to_json(findings)
                       : doctor::render_findings(findings, terminal.style));
  if (doctor::any_failed(findings)) return Error{Code::kIo, 0, ""};
  return Done{};
}

}  // namespace

Run add_doctor(CLI::App* command) {
  auto it = std::make_shared<DoctorOptions>();
  command->add_flag("--json", it->json, "print JSON");
  command->add_option("--config", it->config_path,
                      std::string("configuration file [") + kConfigPath + "]");
  return [it](Invocation& invocation) {
    return run_doctor(*it, invocation.terminal);
  };
}

}  // namespace penstock
