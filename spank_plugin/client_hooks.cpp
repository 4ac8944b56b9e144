// Callbacks in srun, sbatch and salloc. They check flags and variables with the
// user's rights, before the command submits the job.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "common/plugin_guard.h"
#include "spank_plugin/advise.h"
#include "spank_plugin/hooks.h"
#include "spank_plugin/model_file.h"

namespace penstock::spank {
namespace {

// Resolves the model in the command's directory into a value valid for any
// process.
Result<std::string> resolve_here(const char* model) {
  char directory[PATH_MAX];
  if (::getcwd(directory, sizeof directory) == nullptr)
    return system_error(errno, "the current directory");
  const bool is_flag = state().asked.has_flag(kOptionModel);
  return resolve_model(
      model, directory, state().settings.profile_dir,
      is_flag ? option_flag(kOptionModel) : option_spec(kOptionModel).variable);
}

int refuse(const Error& error) {
  slurm_error("penstock: %s", error.message.c_str());
  return -1;
}

// Slurm ignores a hook's return value here, so only exit() stops the command.
[[noreturn]] void end_command(const Error& error) {
  refuse(error);
  std::exit(1);
}

// Slurm has already stored the flag's text in the environment: overwrite it
// with the absolute path. Slurm 22.05 and later pass the flag on in its
// variable: in the client's environment to slurmstepd, and in the job's control
// environment to the sruns inside the job. From 24.11 on slurmstepd reads
// srun's flags only from the launch message, as typed; hence
// kModelPathVariable.
void pass_model_on(spank_t spank) {
  OptionSet& asked = state().asked;
  if (!asked.has_relative_model()) return;
  const auto path = resolve_here(asked.options().model);
  if (!path) end_command(path.error());
  asked.set_model(path->c_str());
  const bool is_flag = asked.has_flag(kOptionModel);
  const OptionSpec& spec = option_spec(kOptionModel);
  const char* name = is_flag ? spec.slurm_variable : spec.variable;
  ::setenv(name, path->c_str(), 1);
  if (!is_flag) return;
  ::setenv(kModelPathVariable, path->c_str(), 1);
  spank_job_control_setenv(spank, name, path->c_str(), 1);
}

// srun and salloc send no environment to slurmctld. job_submit_penstock.so gets
// the variables from the job's control environment.
void pass_variables_on(spank_t spank) {
  for (int i = 0; i < kOptionCount; ++i) {
    const char* name = option_spec(i).variable;
    const char* value = std::getenv(name);
    if (value != nullptr) spank_job_control_setenv(spank, name, value, 1);
  }
}

// argument: nullptr if the flag has none.
void register_option(spank_t spank, int index, const char* name,
                     const char* argument, const char* help) {
  char usage[160];
  std::snprintf(usage, sizeof usage, "[penstock] %s", help);
  // Slurm copies the option and its strings.
  spank_option option{const_cast<char*>(name),
                      const_cast<char*>(argument),
                      usage,
                      argument != nullptr,
                      index,
                      [](int found, const char* value, int remote) {
                        return guard("option", remote ? 0 : -1, [&] {
                          return take_flag(found, value, remote);
                        });
                      }};
  if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
    slurm_error("penstock: --%s could not be registered", name);
}

}  // namespace

int register_options(spank_t spank) {
  for (int i = 0; i < kOptionCount; ++i) {
    const OptionSpec& spec = option_spec(i);
    register_option(spank, i, spec.name, spec.argument, spec.help);
  }
  register_option(spank, kOptionCount, kAdviseOption, nullptr,
                  "print advice on the resources, then submit (sbatch)");
  return 0;
}

int take_flag(int index, const char* value, int remote) {
  if (index == kOptionCount) {
    state().wants_advice = true;
    return 0;
  }
  OptionSet& asked = state().asked;
  const OptionLimits& limits = state().settings.limits;
  const char* text = value == nullptr ? "" : value;
  const Status status = asked.apply_flag(index, text, limits);
  if (!status && remote) {
    slurm_info("penstock: left out: %s", status.error().message.c_str());
    return 0;
  }
  if (!status) return refuse(status.error());
  if (!remote && index == kOptionModel)
    if (const auto path = resolve_here(text); !path)
      return refuse(path.error());
  return 0;
}

int finish_client_options(spank_t spank) {
  OptionSet& asked = state().asked;
  for (int i = 0; i < kOptionCount; ++i) {
    const char* value = std::getenv(option_spec(i).variable);
    if (value == nullptr) continue;
    const Status status =
        asked.apply_variable(i, value, state().settings.limits);
    if (!status) end_command(status.error());
  }
  if (asked.options().model[0] != '\0')
    if (const auto path = resolve_here(asked.options().model); !path)
      end_command(path.error());
  pass_model_on(spank);
  pass_variables_on(spank);
  if (state().wants_advice) print_advice();
  return 0;
}

}  // namespace penstock::spank
