// Keeps C++ exceptions out of Slurm's C frames. Our own code throws none, but
// the standard library may (bad_alloc).
#pragma once

#include <exception>

extern "C" void slurm_error(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

namespace penstock {

// Returns f(); on an exception logs it and returns fallback. Allocates nothing.
template <class F>
int guard(const char* hook, int fallback, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    slurm_error("penstock: %s: %.120s", hook, error.what());
  } catch (...) {
    slurm_error("penstock: %s: unknown exception", hook);
  }
  return fallback;
}

}  // namespace penstock
