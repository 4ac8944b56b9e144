#include "tools/penstock/progress_line.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "common/clock.h"

namespace penstock {
namespace {

constexpr double kEvery_s = 0.5;
constexpr double kFirst_s = 2;

std::atomic<int> interrupts{0};

void on_interrupt(int) { ++interrupts; }

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

InterruptAsRequest::InterruptAsRequest() {
  interrupts = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, &int_);
  ::sigaction(SIGTERM, &action, &term_);
}

InterruptAsRequest::~InterruptAsRequest() {
  ::sigaction(SIGINT, &int_, nullptr);
  ::sigaction(SIGTERM, &term_, nullptr);
}

int InterruptAsRequest::requests() { return interrupts; }

ProgressLine::ProgressLine(const char* what, const char* of_what)
    : what_(what),
      of_what_(of_what),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      shown_s_(now_s() + kFirst_s - kEvery_s) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

bool ProgressLine::operator()(uint64_t done, uint64_t all) {
  if (is_terminal_ && now_s() - shown_s_ > kEvery_s) show(done, all);
  return interrupts == 0;
}

void ProgressLine::show(uint64_t done, uint64_t all) {
  shown_s_ = now_s();
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%s: %.0f%% of %llu %s", what_,
               100.0 * double(done) / double(all),
               static_cast<unsigned long long>(all), of_what_);
  std::fflush(stderr);
}

}  // namespace penstock
