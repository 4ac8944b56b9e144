// What a command that takes long shows meanwhile, and how it is ended.
#pragma once

#include <signal.h>

#include <cstdint>

namespace penstock {

// While it stands Ctrl-C is a request, so that what is half done is removed.
// One at a time.
class InterruptAsRequest {
 public:
  InterruptAsRequest();
  ~InterruptAsRequest();
  InterruptAsRequest(const InterruptAsRequest&) = delete;
  InterruptAsRequest& operator=(const InterruptAsRequest&) = delete;

  static bool is_requested();

 private:
  struct sigaction int_ {};
  struct sigaction term_ {};
};

// A line on a terminal for what takes longer than two seconds.
class ProgressLine {
 public:
  ProgressLine(const char* what, const char* of_what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether to go on.
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
