// What a message may say at most: more than any machine has, and far from where
// doubles lose whole numbers. A message that says more is refused whole, so
// that its writer must keep to them, whatever its users' programs say.
#pragma once

namespace penstock::bounds {

inline constexpr double kMaxCores = 1e6;
inline constexpr double kMaxRanks = 1e6;
inline constexpr double kMaxRate = 1e15;
inline constexpr double kMaxCost_s = 1e6;  // per sample
inline constexpr double kMaxBytes = 1e18;
inline constexpr double kMaxSeconds = 1e10;
inline constexpr double kMaxWeight = 1e6;
inline constexpr double kLeast = 1e-9;           // of what must be over 0
inline constexpr double kMaxLoaderCores = 1e12;  // that threads could use
inline constexpr double kMaxRelativeError = 0.99;

}  // namespace penstock::bounds
