// The parts of a rank's wall time, described once. Time that is in none of them
// is unattributed. Pure.
#pragma once

#include <array>
#include <cstddef>

namespace penstock {

enum class WallPart { kCompute, kFetchStall, kPrepStall, kExchangeStall };

struct WallPartNames {
  WallPart part;
  const char* key;          // in JSON and CSV
  const char* seconds_key;  // in messages and the history: seconds of it
  const char* text;
  const char* cause;    // one word: metrics, verdicts, styles
  const char* awaited;  // what a rank waits for; "": it does not wait
};
inline constexpr std::array<WallPartNames, 4> kWallParts = {
    {{WallPart::kCompute, "compute", "compute_s", "compute", "compute", ""},
     {WallPart::kFetchStall, "fetch_stall", "fetch_stall_s", "fetch stall",
      "fetch", "storage"},
     {WallPart::kPrepStall, "prep_stall", "prep_stall_s", "prep stall", "prep",
      "CPU"},
     {WallPart::kExchangeStall, "exchange_stall", "exchange_stall_s",
      "exchange stall", "exchange", "gradients"}}};

constexpr bool is_stall(WallPart part) { return part != WallPart::kCompute; }
// The stalls whose sum a job reports as the time waited for data.
constexpr bool waits_for_data(WallPart part) {
  return part == WallPart::kFetchStall || part == WallPart::kPrepStall;
}

// A value for each part.
template <class T>
struct PerWallPart {
  T compute{};
  T fetch_stall{};
  T prep_stall{};
  T exchange_stall{};

  constexpr T& operator[](WallPart part) { return this->*member(part); }
  constexpr const T& operator[](WallPart part) const {
    return this->*member(part);
  }
  friend bool operator==(const PerWallPart&, const PerWallPart&) = default;

 private:
  static constexpr T PerWallPart::*member(WallPart part) {
    constexpr std::array<T PerWallPart::*, kWallParts.size()> kMembers = {
        &PerWallPart::compute, &PerWallPart::fetch_stall,
        &PerWallPart::prep_stall, &PerWallPart::exchange_stall};
    return kMembers[size_t(part)];
  }
};

}  // namespace penstock
