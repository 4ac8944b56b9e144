// The tags of messages: what goes on at the same time has different ones.
#pragma once

namespace penstock::exchange {

inline constexpr int kToOwnersTag = 1;       // of sparse sums in two phases
inline constexpr int kToEverybodyTag = 2;    // of sparse sums by everybody
inline constexpr int kFailedTag = 3;         // a rank has failed
inline constexpr int kDenseToOwnersTag = 4;  // of dense sums
inline constexpr int kDenseToAllTag = 5;

}  // namespace penstock::exchange
