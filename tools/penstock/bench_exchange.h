// `penstock bench exchange`: methods of exchanging gradients, over links of
// several speeds.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchExchangeArguments {
  int rounds = 11;  // each runs every method once
  std::vector<std::string> parts = {"selection", "1g", "10g", "memory"};
  bool calibrates = false;  // calibrate only
  std::string costs_dir;    // "": exchange-costs
};

// Compares one thread's selection with memcpy, and measures exchanges over 2, 4
// and 8 ranks. The ranks use network namespaces with links of 1 and of 10 Gb/s,
// or shared memory. With `calibrates` it only fits the cost model and writes it
// to costs_dir. json_file: "" for none. Needs the source tree and mpirun; root
// and iproute2 for the links.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_exchange(const BenchExchangeArguments& arguments,
                                        const std::string& json_file,
                                        Terminal& terminal);

}  // namespace penstock
