// One place that knows which Catch2 is installed (v2 in bookworm, v3 later).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>

#include <string>

namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text) {
  return Contains(text);
}
}  // namespace Catch::Matchers
#pragma GCC poison Contains  // v3 compares elements by it, not substrings
#endif
