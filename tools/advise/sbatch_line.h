// The options of a submission: of sbatch's command line, its environment and
// the script's #SBATCH lines. Pure, but for getopt_long's own state: not
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock::advise {

struct GivenOption {
  std::string name;   // the long one: "cpus-per-task"
  std::string value;  // "": it has none
  std::string where;  // "train.sbatch:4", or "sbatch's arguments"
};

// A command line of sbatch, without the word "sbatch".
struct SbatchLine {
  std::vector<GivenOption> options;  // in their order
  std::vector<std::string> unknown;  // options that this release lacks
  std::vector<std::string> rest;     // the script and its arguments
};

// Takes abbreviated names, as sbatch does.
// Errors: kInvalidArgument  an option lacks its value; a heterogeneous job
[[nodiscard]] Result<SbatchLine> parse_sbatch_line(
    const std::vector<std::string>& words);

// Adds the options of the lines that sbatch would read: those from "#SBATCH" on
// before the script's first command.
// Errors: parse_sbatch_line()'s, and quotes that do not end; each with the line
[[nodiscard]] Status add_script_options(std::string_view script,
                                        const std::string& file,
                                        SbatchLine& line);

struct SbatchOption {
  const char* name;
  char letter;  // '\0': none
  enum class Value { kNone, kMay, kMust } value;
};
// Those of Slurm 22.05 to 25.05, and Penstock's own.
const std::vector<SbatchOption>& sbatch_options();

}  // namespace penstock::advise
