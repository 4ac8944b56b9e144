// The --loader-* options: one table, used by the plugin (flags and PENSTOCK_*
// variables), by penstockd (which checks them again) and by the tests. Pure.
// The C++ standard library only: the SPANK plugin compiles options.cpp too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocol.h"
#include "common/result.h"

namespace penstock {

// Bounds that the admin may set (plugstack.conf arguments, penstock.conf).
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

// In the order in which srun --help shows them: loader, loader-threads,
// loader-bw, loader-model, loader-batch, loader-weight, loader-match,
// loader-share, loader-report.
inline constexpr int kOptionCount = 9;
// REQUIRES: 0 <= index < kOptionCount.
const OptionSpec& option_spec(int index);

// Checks value for the option and stores it in options.
// Errors: kInvalidArgument, message as a user reads it:
//   "--loader-threads=abc: not valid; allowed: 1 to 4096, or auto"
// On error options is not modified. A share's name is for the job alone: of it
// only is stored that the job wants to be managed. Opens no file: a model's
// path is checked for form only. A value with a '/' is a path and is stored as
// it was given: the caller makes a relative one absolute before it sends it.
[[nodiscard]] Status apply_option(int index, std::string_view value,
                                  const OptionLimits& limits,
                                  penstock_wire_options& options);

// Range-checks a whole set that came over the socket: every field, the
// padding of the strings, and that a model's path is absolute.
// Errors: kInvalidArgument  names the field.
[[nodiscard]] Status check_options(const penstock_wire_options& options,
                                   const OptionLimits& limits);

// True where any option, or mode auto, asks for management; mode off wins.
bool asks_for_management(const penstock_wire_options& options);

// Whether --loader-match's pattern matches the whole of text (a thread's comm
// or a process's command line with spaces between its arguments): '*' stands
// for any run of bytes, '?' for one byte, everything else for itself.
// Not fnmatch(3), whose time grows exponentially with hostile patterns; this
// takes O(pattern x text).
bool matches_loader(std::string_view pattern, std::string_view text);

}  // namespace penstock
