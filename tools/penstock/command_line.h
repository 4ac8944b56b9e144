// The whole `penstock` command except for main().
#pragma once

#include <iosfwd>

#include "tools/penstock/command.h"

namespace penstock {

// Parses argv, runs the subcommand, writes errors to `errors` and returns the
// exit code. Never throws.
int run_command_line(int argc, const char* const* argv, Terminal& terminal,
                     std::ostream& errors);

}  // namespace penstock
