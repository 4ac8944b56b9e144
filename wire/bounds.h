// Bounds of the numbers in messages. No machine reaches them, and they are far
// below the range where doubles lose whole numbers. A receiver refuses the
// whole message if one number is out of bounds. So the sender must clamp
// figures that come from users' programs.
#pragma once

#include <cstdint>

namespace penstock::bounds {

// A controller raises terms by little: far below this for centuries.
inline constexpr uint64_t kMaxTerm = uint64_t{1} << 53;
inline constexpr double kMaxCores = 1e6;
inline constexpr double kMaxRanks = 1e6;
inline constexpr double kMaxRate = 1e15;
inline constexpr double kMaxCost_s = 1e6;  // per sample
inline constexpr double kMaxBytes = 1e18;
inline constexpr double kMaxSeconds = 1e10;
inline constexpr double kMaxWeight = 1e6;
inline constexpr double kLeast = 1e-9;           // of positive numbers
inline constexpr double kMaxLoaderCores = 1e12;  // usable by a job's threads
inline constexpr double kMaxRelativeError = 0.99;

}  // namespace penstock::bounds
