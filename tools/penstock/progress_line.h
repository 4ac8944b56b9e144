// Progress display and interruption of long-running commands.
#pragma once

#include <signal.h>

#include <cstdint>

namespace penstock {

// While it exists, Ctrl-C only sets a flag, so that the command can clean up.
// At most one instance at a time.
class InterruptAsRequest {
 public:
  InterruptAsRequest();
  ~InterruptAsRequest();
  InterruptAsRequest(const InterruptAsRequest&) = delete;
  InterruptAsRequest& operator=(const InterruptAsRequest&) = delete;

  // How often since it exists.
  static int requests();
  static bool is_requested() { return requests() > 0; }

 private:
  struct sigaction int_ {};
  struct sigaction term_ {};
};

// A progress line on a terminal, shown after two seconds.
class ProgressLine {
 public:
  ProgressLine(const char* what, const char* of_what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Updates the line. Returns false if the command was interrupted.
  bool operator()(uint64_t done, uint64_t all);

 private:
  void show(uint64_t done, uint64_t all);

  const char* what_;
  const char* of_what_;
  const bool is_terminal_;
  bool is_shown_ = false;
  double shown_s_;
};

}  // namespace penstock
