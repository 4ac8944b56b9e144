// What a subcommand of `penstock` is, and what all of them share.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "report/render.h"

namespace CLI {
class App;
}

namespace penstock {

inline constexpr const char* kConfigPath = "/etc/slurm/penstock.conf";

// Exit codes, the same for every subcommand.
inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;   // arguments, or a file's content
inline constexpr int kExitNoData = 3;  // no data, or no permission
int exit_code(Code code);

// The output stream and its properties.
struct Terminal {
  std::ostream& out;
  bool interactive = false;    // a terminal: live views redraw in place
  TextStyle style;             // colour and bars suit it
  uint64_t refresh_ms = 1000;  // of live views
};

struct Invocation {
  Terminal& terminal;
  std::ostream& errors;
  std::vector<std::string> command;  // the words after "--", if it takes any
};
// An error becomes a message and an exit code. Without a message it only
// becomes the code: the output has said why.
using Run = std::function<Status(Invocation&)>;

struct Command {
  const char* name;
  const char* summary;
  // Adds the options, and returns what runs the command once they are parsed.
  Run (*add)(CLI::App* command);
  // All words after "--" are another program's command line.
  bool takes_command = false;
};

// Parses argv, runs the command, writes errors and returns the exit code. Never
// throws.
int run_app(const Command& command, int argc, const char* const* argv,
            Invocation& invocation);

// Standard output: its width, and whether colour and Unicode suit it.
Terminal standard_terminal();

}  // namespace penstock
