// The --loader-* options: one table for the plugin (flags and PENSTOCK_*
// variables), penstockd (which checks the values again) and the tests. Pure.
// Uses only the C++ standard library: the SPANK plugin compiles options.cpp
// too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocol.h"
#include "common/result.h"

namespace penstock {

// Limits set by the admin (plugstack.conf arguments, penstock.conf).
struct OptionLimits {
  double max_weight = 1.0;  // --loader-weight is in [0.001, max_weight]
};

struct OptionSpec {
  const char* name;      // "loader-threads"
  const char* variable;  // "PENSTOCK_LOADER_THREADS"
  const char* argument;  // "N|auto", for the help text
  const char* help;      // one line
  const char* allowed;   // for the error text: "1 to 4096, or auto"
};

// Order of the options, as in srun --help: loader, loader-threads, loader-bw,
// loader-model, loader-batch, loader-weight, loader-match, loader-share,
// loader-report.
inline constexpr int kOptionCount = 9;
// REQUIRES: 0 <= index < kOptionCount.
const OptionSpec& option_spec(int index);

// Checks value for the option and stores it in options.
// Errors: kInvalidArgument, with a message for the user:
//   "--loader-threads=abc: not valid; allowed: 1 to 4096, or auto"
// On error options is not modified.
//
// --loader-model: a value with a '/' is a path, stored as given. Opens no file
// and checks only the path's form. The caller makes a relative path absolute
// before sending it.
//
// --loader-share: stores only a request for management, not the name, which
// only the job uses.
[[nodiscard]] Status apply_option(int index, std::string_view value,
                                  const OptionLimits& limits,
                                  penstock_wire_options& options);

// Checks a whole set received over the socket: the range of every field, the
// padding of the strings, and that a model's path is absolute.
// Errors: kInvalidArgument  the message names the field.
[[nodiscard]] Status check_options(const penstock_wire_options& options,
                                   const OptionLimits& limits);

// Whether mode auto or any other option asks for management; mode off wins.
bool asks_for_management(const penstock_wire_options& options);

// Whether --loader-match's pattern matches all of text (a thread's comm, or a
// process's command line with spaces between arguments). '*' matches any run of
// bytes, '?' one byte, everything else itself.
// Not fnmatch(3), whose time grows exponentially with hostile patterns; this
// takes O(pattern x text).
bool matches_loader(std::string_view pattern, std::string_view text);

}  // namespace penstock
