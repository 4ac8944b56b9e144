#include "select_ext/job_submit/job_options.h"

#include <string_view>

namespace penstock::job_submit {
namespace {

// Applies the options whose variables, by `variable`, are in the environment.
Status apply_given(std::span<const char* const> environment,
                   const char* OptionSpec::*variable,
                   Status (OptionSet::*apply)(int, std::string_view,
                                              const OptionLimits&),
                   const OptionLimits& limits, OptionSet& set) {
  for (const char* text : environment) {
    const std::string_view entry(text == nullptr ? "" : text);
    const size_t equals = entry.find('=');
    // Every name begins with that of the first option.
    if (equals == std::string_view::npos ||
        !entry.starts_with(option_spec(0).*variable))
      continue;
    for (int i = 0; i < kOptionCount; ++i) {
      if (entry.substr(0, equals) != option_spec(i).*variable) continue;
      Status status = (set.*apply)(i, entry.substr(equals + 1), limits);
      if (!status) return status;
    }
  }
  return Done{};
}

}  // namespace

Result<OptionSet> read_options(std::span<const char* const> control_environment,
                               std::span<const char* const> batch_environment,
                               bool is_batch, const OptionLimits& limits) {
  OptionSet set;
  Status status = apply_given(control_environment, &OptionSpec::slurm_variable,
                              &OptionSet::apply_flag, limits, set);
  if (!status) return std::move(status).error();
  const auto& variables = is_batch ? batch_environment : control_environment;
  status = apply_given(variables, &OptionSpec::variable,
                       &OptionSet::apply_variable, limits, set);
  if (!status) return std::move(status).error();
  return set;
}

}  // namespace penstock::job_submit
