// `penstock bench exchange`: ways to exchange gradients, over links of several
// speeds.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchExchangeArguments {
  int rounds = 11;  // in which each way runs once
  std::vector<std::string> parts = {"selection", "1g", "10g", "memory"};
  bool calibrates = false;  // only
  std::string costs_dir;    // "": exchange-costs
};

// Measures one thread's selection beside memcpy, and exchanges over 2, 4 and 8
// ranks: through network namespaces with a link of 1 and of 10 Gb/s each, and
// through shared memory; or only fits the cost model there and writes it to
// costs_dir. json_file: "" for none. Needs the source tree and mpirun; for the
// links root and iproute2.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_exchange(const BenchExchangeArguments& arguments,
                                        const std::string& json_file,
                                        Terminal& terminal);

}  // namespace penstock
