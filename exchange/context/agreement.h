// What the ranks of a job say of themselves before they exchange anything, and
// what is wrong with it: the same sentence on all of them. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "exchange/context/context.h"

namespace penstock::exchange {

// As they are sent: of one size.
struct RankRecord {
  uint64_t layers = 0;
  uint64_t bucket_elements = 0;
  uint64_t exact_steps = 0;
  uint64_t passes_nonfinite = 0;
  uint64_t has_device = 0;
  double keep_factor = 0;
  ExchangeCosts costs;
  char refusal[256] = "";  // why this rank cannot go on
};
struct LayerRecord {
  uint64_t elements = 0;
  double density = 0;
  int32_t residual = 0;
  int32_t method = -1;  // -1: by the cost model
  char name[64] = "";   // cut off where it is longer
};
static_assert(std::is_trivially_copyable_v<RankRecord> &&
              std::is_trivially_copyable_v<LayerRecord>);

RankRecord record_of(const ContextOptions& options, size_t layers,
                     const std::string& refusal);
LayerRecord record_of(const LayerOptions& layer);

// Why the layer cannot be exchanged, or "".
std::string refusal_of(const LayerOptions& layer);
std::string refusal_of(const ContextOptions& options);

// Where ranks refuse or differ from rank 0, or "". ranks: in their order.
std::string disagreement(std::span<const RankRecord> ranks);
// records: those of rank 0, then those of rank 1, ...
// REQUIRES: as many of each rank.
std::string disagreement(std::span<const LayerRecord> records, int ranks);

}  // namespace penstock::exchange
