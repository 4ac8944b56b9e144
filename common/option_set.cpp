#include "common/option_set.h"

#include <cstring>

#include "common/units.h"

namespace penstock {
Status OptionSet::apply_flag(int index, std::string_view value,
                             const OptionLimits& limits) {
  if (Status status = apply_option(index, value, limits, options_); !status)
    return status;
  flags_ |= uint32_t{1} << index;
  return Done{};
}

Status OptionSet::apply_variable(int index, std::string_view value,
                                 const OptionLimits& limits) {
  if (value.empty() || has_flag(index)) return Done{};
  Status status = apply_option(index, value, limits, options_);
  if (status) return status;
  // The message names the flag; the user wrote the variable.
  std::string message = status.error().message;
  const std::string flag = option_flag(index);
  if (message.starts_with(flag))
    message.replace(0, flag.size(), option_spec(index).variable);
  return invalid(message);
}

void OptionSet::set_model(const char* path) {
  std::strncpy(options_.model, path, sizeof options_.model - 1);
}

bool OptionSet::has_relative_model() const {
  const char* model = options_.model;
  return model[0] != '/' && std::strchr(model, '/') != nullptr;
}

}  // namespace penstock
