// Writes an HTML page to a file, or to the standard output.
#pragma once

#include <string>

#include "tools/penstock/command.h"

namespace penstock {

// file: "-": the standard output. Errors: those of replace_file().
[[nodiscard]] Status write_page(const std::string& page,
                                const std::string& file, Terminal& terminal);

}  // namespace penstock
