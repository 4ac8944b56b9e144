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
  double max_weight = 1.0;  // a job's weight is in [0.001, max_weight]
};

// Numbers of the options, in the order of srun --help.
enum OptionIndex : int {
  kOptionMode,
  kOptionThreads,
  kOptionBw,
  kOptionModel,
  kOptionBatch,
  kOptionWeight,
  kOptionMatch,
  kOptionShare,
  kOptionWatch,
  kOptionElastic,
  kOptionReport,
  kOptionCount
};

// A flag of sbatch that only prints: "penstock advise" before the submission.
inline constexpr const char* kAdviseOption = "loader-advise";

// All that is known of an option. Its fields of the wire form are in
// visit_option_fields().
struct OptionSpec {
  const char* name;      // "loader-threads"
  const char* variable;  // "PENSTOCK_LOADER_THREADS"
  // The variable in which Slurm passes the flag on:
  // "_SLURM_SPANK_OPTION_penstock_loader_threads"
  const char* slurm_variable;
  const char* argument;  // "N|auto", for the help text
  const char* help;      // one line
  const char* allowed;   // for the error text: "1 to 4096, or auto"
  // Stores a valid value. False, and no change, if it is not valid.
  bool (*store)(std::string_view value, const OptionLimits& limits,
                penstock_wire_options& options);
  // The value that a report shows; "": not given.
  std::string (*shown)(const penstock_wire_options& options);
};

// REQUIRES: 0 <= index < kOptionCount.
const OptionSpec& option_spec(int index);
// "--loader-threads"
std::string option_flag(int index);

// Calls visit(name, field) for each field that a restarted penstockd restores.
// Options may be const.
template <class Options, class Visit>
void visit_option_fields(Options& options, Visit&& visit) {
  visit("mode", options.mode);
  visit("report_format", options.report_format);
  visit("threads", options.threads);
  visit("threads_auto", options.threads_auto);
  visit("bw_bytes_per_s", options.bw_bytes_per_s);
  visit("bw_auto", options.bw_auto);
  visit("batch", options.batch);
  visit("weight_milli", options.weight_milli);
  visit("model", options.model);
  visit("match", options.match);
  visit("watch", options.watch);
  visit("elastic", options.elastic);
  visit("share", options.share);
}

// Checks value for the option and stores it in options.
// Errors: kInvalidArgument, with a message for the user:
//   "--loader-threads=abc: not valid; allowed: 1 to 4096, or auto"
// On error options is not modified.
//
// kOptionModel: a value with a '/' is a path, stored as given. Opens no file
// and checks only the path's form. The caller makes a relative path absolute
// before sending it.
[[nodiscard]] Status apply_option(int index, std::string_view value,
                                  const OptionLimits& limits,
                                  penstock_wire_options& options);

// Checks a whole set received over the socket: the range of every field, the
// padding of the strings, and that a model's path is absolute.
// Errors: kInvalidArgument  the message names the field.
[[nodiscard]] Status check_options(const penstock_wire_options& options,
                                   const OptionLimits& limits);

// The value of kOptionShare or kOptionElastic, which the job's own processes
// read from the option's variable; "" if not given, and for other options.
const char* value_for_job(int index, const penstock_wire_options& options);

// Whether mode auto or any other option asks for management; mode off wins.
bool asks_for_management(const penstock_wire_options& options);

// Whether the job's Python scripts are measured without a change: a managed
// job's, unless its user refuses.
bool asks_for_watching(const penstock_wire_options& options);

// Whether kOptionMatch's pattern matches all of text (a thread's comm, or a
// process's command line with spaces between arguments). '*' matches any run of
// bytes, '?' one byte, everything else itself.
// Not fnmatch(3), whose time grows exponentially with hostile patterns; this
// takes O(pattern x text).
bool matches_loader(std::string_view pattern, std::string_view text);

}  // namespace penstock
