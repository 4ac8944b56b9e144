// `penstock analyze`.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct AnalyzeArguments {
  double budget_s = 120;        // for measuring
  double start_s = 120;         // until the command asks for data
  std::vector<double> amounts;  // of cores; empty: chosen
  bool local = false;           // without Slurm
  bool json = false;
  std::string save_file;  // the profile; "": none
  std::vector<std::string> srun_options;
  std::vector<std::string> command;
};
// Errors: kNotFound  the command failed, ended early, or never asked for data;
//         kUnavailable  interrupted, or a rank does not answer
[[nodiscard]] Status run_analyze(const AnalyzeArguments& arguments,
                                 Terminal& terminal);

}  // namespace penstock
