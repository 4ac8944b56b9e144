// toml++ 3.3, header-only, with its assertions turned into exceptions.
//
// Malformed text ("[,", "[}"; found by fuzzing) violates several assertions.
// Debian's build of the library omits them and continues into undefined
// behaviour, and profiles come from users. Internal to predictor/: no other
// code of the program may include toml++ without these settings.
#pragma once

#include <stdexcept>

namespace penstock {
// A function, because compilers warn about a plain throw in noexcept functions.
// (Such functions are accessors with assertions; parsing does not misuse them.)
[[noreturn]] inline void throw_not_toml() {
  throw std::runtime_error("not TOML; allowed: key = value lines, see toml.io");
}
}  // namespace penstock

#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::penstock::throw_not_toml())

// With NDEBUG the library lets the compiler assume the asserted conditions.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
