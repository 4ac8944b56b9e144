// `penstock analyze`.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct AnalyzeArguments {
  double budget_s = 120;        // limit of the measurements
  double start_s = 120;         // limit until the first data request
  std::vector<double> amounts;  // of cores; empty: defaults
  bool local = false;           // without Slurm
  bool json = false;
  std::string save_file;  // file for the profile; "": none
  std::vector<std::string> srun_options;
  std::vector<std::string> command;
};
// Errors: kNotFound  the command failed, ended early, or never asked for data;
//         kUnavailable  interrupted, or a rank does not answer
[[nodiscard]] Status run_analyze(const AnalyzeArguments& arguments,
                                 Terminal& terminal);

}  // namespace penstock
