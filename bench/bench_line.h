// The command line of `penstock bench`.
#pragma once

#include <iosfwd>

#include "tools/penstock/command.h"

namespace penstock {

// Parses argv, runs the benchmark, writes errors to `errors` and returns the
// exit code. Never throws.
int run_bench_line(int argc, const char* const* argv, Terminal& terminal,
                   std::ostream& errors);

}  // namespace penstock
