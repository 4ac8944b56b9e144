#include "select_ext/job_submit/job_options.h"

#include <string_view>

namespace penstock::job_submit {
namespace {

constexpr std::string_view kFlagPrefix = "_SLURM_SPANK_OPTION_penstock_";
constexpr std::string_view kVariablePrefix = "PENSTOCK_LOADER";

// Slurm replaces '-' in an option's name by '_'.
bool is_option(std::string_view written, std::string_view name) {
  if (written.size() != name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i)
    if (written[i] != (name[i] == '-' ? '_' : name[i])) return false;
  return true;
}

// Splits "NAME=value"; false without a '='.
bool split(std::string_view entry, std::string_view& name,
           std::string_view& value) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return false;
  name = entry.substr(0, equals);
  value = entry.substr(equals + 1);
  return true;
}

Status apply_flags(std::span<const char* const> environment,
                   const OptionLimits& limits, OptionSet& set) {
  for (const char* text : environment) {
    std::string_view entry(text == nullptr ? "" : text), name, value;
    if (!entry.starts_with(kFlagPrefix)) continue;
    if (!split(entry.substr(kFlagPrefix.size()), name, value)) continue;
    for (int i = 0; i < kOptionCount; ++i)
      if (is_option(name, option_spec(i).name))
        if (Status status = set.apply_flag(i, value, limits); !status)
          return status;
  }
  return Done{};
}

Status apply_variables(std::span<const char* const> environment,
                       const OptionLimits& limits, OptionSet& set) {
  for (const char* text : environment) {
    std::string_view entry(text == nullptr ? "" : text), name, value;
    if (!entry.starts_with(kVariablePrefix)) continue;
    if (!split(entry, name, value)) continue;
    for (int i = 0; i < kOptionCount; ++i)
      if (name == option_spec(i).variable)
        if (Status status = set.apply_variable(i, value, limits); !status)
          return status;
  }
  return Done{};
}

}  // namespace

Result<OptionSet> read_options(std::span<const char* const> control_environment,
                               std::span<const char* const> batch_environment,
                               bool is_batch, const OptionLimits& limits) {
  OptionSet set;
  if (Status status = apply_flags(control_environment, limits, set); !status)
    return std::move(status).error();
  const auto& variables = is_batch ? batch_environment : control_environment;
  if (Status status = apply_variables(variables, limits, set); !status)
    return std::move(status).error();
  return set;
}

}  // namespace penstock::job_submit
