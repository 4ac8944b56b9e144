// The records that ranks compare before they exchange anything, and the check
// of them, whose text is the same on all ranks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "exchange/context/options.h"

namespace penstock::exchange {

// Sent as bytes, so of a fixed size.
struct RankRecord {
  uint64_t layers = 0;
  uint64_t bucket_elements = 0;
  uint64_t exact_steps = 0;
  uint64_t passes_nonfinite = 0;
  uint64_t has_device = 0;
  double keep_factor = 0;
  ExchangeCosts costs;
  char refusal[256] = "";  // why this rank cannot take part, or ""
};
struct LayerRecord {
  uint64_t elements = 0;
  double density = 0;
  int32_t residual = 0;
  int32_t method = -1;  // -1: by the cost model
  char name[64] = "";   // truncated if longer
};
static_assert(std::is_trivially_copyable_v<RankRecord> &&
              std::is_trivially_copyable_v<LayerRecord>);

RankRecord record_of(const ContextOptions& options, size_t layers,
                     const std::string& refusal);
LayerRecord record_of(const LayerOptions& layer);

// Why the layer, or the options, are invalid; "" if valid.
std::string refusal_of(const LayerOptions& layer);
std::string refusal_of(const ContextOptions& options);

// The first refusal, or else the first difference from rank 0; "" if none.
// ranks: in the order of ranks.
std::string disagreement(std::span<const RankRecord> ranks);
// records: all of rank 0, then all of rank 1, ... REQUIRES: the same number of
// records for each rank.
std::string disagreement(std::span<const LayerRecord> records, int ranks);

}  // namespace penstock::exchange
