// The command line of penstock-exchange-bench.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

enum class RanksCommand { kCalibrate, kCompare, kStep };

struct RanksOptions {
  RanksCommand command = RanksCommand::kCompare;
  size_t elements = size_t{1} << 24;
  std::vector<double> densities = {0.001, 0.01, 0.05, 0.1};
  int rounds = 11;
  ExchangeCosts costs;   // kCompare, kStep: for the choice of method
  int layers = 4;        // kStep: layers of `elements` each
  double compute_s = 1;  // kStep: computing time of a step
};

// Returns nothing if help was requested and printed.
// Errors: kInvalidArgument  an option, or the costs file's content
//         kIo, kNotFound, kPermissionDenied  the costs file
[[nodiscard]] Result<std::optional<RanksOptions>> parse_ranks_options(
    int argc, const char* const* argv);

}  // namespace penstock::exchange
