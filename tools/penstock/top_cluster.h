// `penstock top` over all nodes, from a controller.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct TopClusterOptions {
  std::string sort;  // a column; "": JOB
  std::string node;  // "": all
  bool once = false;
  bool json = false;
};

// Redraws on a terminal, and obeys keys, until the user quits. Otherwise prints
// one view. Users see their own jobs, root and Slurm's operators all.
// Errors: kInvalidArgument  the column; no controller is configured
//         ask_for_all()'s, of the first answer
[[nodiscard]] Status run_top_cluster(const TopClusterOptions& options,
                                     const Config& config, Terminal& terminal);

}  // namespace penstock
