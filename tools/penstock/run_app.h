// Parses a command line and runs what it chooses, for every program of the
// `penstock` command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>

#include "tools/penstock/command.h"

namespace penstock {

// Standard output: its width, and whether colour and Unicode suit it.
Terminal standard_terminal();

// Parses argv, calls `run`, writes errors to `errors` and returns the exit
// code: that of `run` unless it fails. Never throws.
int run_app(CLI::App& app, int argc, const char* const* argv,
            const std::function<Result<int>()>& run, Terminal& terminal,
            std::ostream& errors);

}  // namespace penstock
