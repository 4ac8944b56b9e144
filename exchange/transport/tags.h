// Message tags. Messages that may be in flight together have different tags.
#pragma once

namespace penstock::exchange {

inline constexpr int kToOwnersTag = 1;       // TwoPhase: entries to owners
inline constexpr int kToEverybodyTag = 2;    // ToEverybody: entries to all
inline constexpr int kFailedTag = 3;         // a rank has failed
inline constexpr int kDenseToOwnersTag = 4;  // DenseSum: parts to owners
inline constexpr int kDenseToAllTag = 5;     // DenseSum: sums to all

}  // namespace penstock::exchange
