// A view that is redrawn periodically.
#pragma once

#include <chrono>
#include <ostream>
#include <thread>

#include "tools/penstock/command.h"

namespace penstock {

// Clears an interactive terminal.
inline void start_view(Terminal& terminal) {
  if (terminal.interactive) terminal.out << "\033[H\033[J";
}

// Flushes the output and sleeps for refresh_ms.
inline void end_view(Terminal& terminal) {
  terminal.out.flush();
  std::this_thread::sleep_for(std::chrono::milliseconds(terminal.refresh_ms));
}

}  // namespace penstock
