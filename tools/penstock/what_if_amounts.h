// Amounts as accepted by `penstock what-if`: one, a list, or a range. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

enum class Axis { kCores, kCache, kBandwidth, kAccelerator, kRanks, kDensity };

inline constexpr Axis kAxes[] = {Axis::kCores,     Axis::kCache,
                                 Axis::kBandwidth, Axis::kAccelerator,
                                 Axis::kRanks,     Axis::kDensity};
inline constexpr size_t kMaxAmounts = 256;

struct AxisWords {
  const char* name;      // in JSON
  const char* heading;   // of a table
  const char* panel;     // of a picture
  const char* unit;      // in a picture
  const char* examples;  // of amounts
};
const AxisWords& words_of(Axis axis);

// "4", "1,2,4", "1..24", "0.25..2:0.25"; ascending, without duplicates.
//   cores        0.001 to 4096
//   cache        0% to 100% with the sign; returned as 0 to 1
//   bandwidth    as in parse_rate_bytes_per_s()
//   accelerator  0.01 to 1000, with an optional 'x'
//   ranks        whole, 1 to 4096
//   density      0.001% to 100% with the sign; returned as 0.00001 to 1
// An amount without a unit has the unit of the last one: "50..400M". A range
// without a step uses round amounts (spread()).
// Errors: kInvalidArgument  names the text, and what is allowed.
[[nodiscard]] Result<std::vector<double>> parse_amounts(Axis axis,
                                                        std::string_view text);

// low, high, and round amounts between them: about a dozen. If both ends are
// whole cores or ranks and give at most 32 amounts, all whole amounts.
// REQUIRES: low <= high.
std::vector<double> spread(Axis axis, double low, double high);

// The smallest of 1, 2, 2.5, 5, 10 ... that divides a width into at most
// `parts`. For ranks: of 1, 2, 5, 10 ...; for bandwidth: in its display unit.
// REQUIRES: width > 0.
double round_step(Axis axis, double width, int parts);

// "2.5", "40%", "120 MB/s", "2x", "4".
std::string amount_text(Axis axis, double amount);
// The amount with its noun: "2.5 cores", "1 rank", "40%".
std::string named_amount(Axis axis, double amount);

}  // namespace penstock
