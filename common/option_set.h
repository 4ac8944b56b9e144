// The user's options from flags and PENSTOCK_* variables; a flag overrides its
// variable. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/options.h"
#include "common/result.h"

namespace penstock {

class OptionSet {
 public:
  // Store a value for option number `index` (common/options.h). The last flag
  // wins. apply_variable ignores an empty value, and any value if the flag was
  // given.
  // Errors: kInvalidArgument  the message names the flag or the variable.
  // On error the set is not modified.
  [[nodiscard]] Status apply_flag(int index, std::string_view value,
                                  const OptionLimits& limits);
  [[nodiscard]] Status apply_variable(int index, std::string_view value,
                                      const OptionLimits& limits);

  bool has_flag(int index) const { return flags_ >> index & 1; }
  const penstock_wire_options& options() const { return options_; }

  // Replaces the model by an absolute path, or by "" for none. path is
  // NUL-terminated and shorter than the field.
  void set_model(const char* path);
  // Whether the model is a relative path, which is invalid in other processes.
  bool has_relative_model() const;

 private:
  penstock_wire_options options_{};
  uint32_t flags_ = 0;  // bit i: option i was given as a flag
};

}  // namespace penstock
