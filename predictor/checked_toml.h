// toml++ 3.3, header-only, with its assertions turned into exceptions.
//
// Fuzzing reaches several of them with malformed text ("[,", "[}"). Debian's
// build of the library leaves them out and runs on into undefined behaviour;
// a profile comes from a user. Internal to predictor/: nothing else may
// include toml++ in the same program without these settings.
#pragma once

#include <stdexcept>

namespace penstock {
// A function, as a plain throw is warned about where the library asserts in
// noexcept functions (accessors, which parsing does not misuse).
[[noreturn]] inline void throw_not_toml() {
  throw std::runtime_error("not TOML; allowed: key = value lines, see toml.io");
}
}  // namespace penstock

#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::penstock::throw_not_toml())

// With NDEBUG the library tells the compiler to assume what it asserts.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
