#include "exchange/context/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace penstock::exchange {
namespace {

template <size_t kSize>
void copy_text(const std::string& text, char (&room)[kSize]) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::copy_n(text.begin(), length, room);
  room[length] = '\0';
}

// Received text may lack its terminating zero.
template <size_t kSize>
std::string_view text_of(const char (&room)[kSize]) {
  return {room, size_t(std::find(room, room + kSize, '\0') - room)};
}

std::string_view residual_name(int32_t residual) {
  switch (static_cast<ResidualKind>(residual)) {
    case ResidualKind::kFloat32:
      return "float32";
    case ResidualKind::kBfloat16:
      return "bfloat16";
    case ResidualKind::kHost:
      return "host";
  }
  return "unknown";
}

std::string_view method_name(int32_t method) {
  switch (static_cast<Method>(method)) {
    case Method::kDense:
      return "dense";
    case Method::kAllgather:
      return "allgather";
    case Method::kTwoPhase:
      return "two-phase";
  }
  return "by model";
}

std::string_view place(const RankRecord& rank) {
  return rank.has_device != 0 ? "a GPU" : "the CPU";
}

// "rank 2 has a density of 0.1, rank 0 has 0.01: ...", or "" if equal.
template <class Value>
std::string differs(size_t rank, const char* what, const Value& theirs,
                    const Value& first) {
  if (theirs == first) return "";
  return fmt::format(
      "rank {} has {} {}, rank 0 has {}: all ranks must add the same layers "
      "in the same order, with the same options",
      rank, what, theirs, first);
}

// An optimizer's results differ in bits between a GPU and a CPU.
std::string differs_in_place(size_t rank, const RankRecord& theirs,
                             const RankRecord& first) {
  if (theirs.has_device == first.has_device) return "";
  return fmt::format(
      "rank {} has its model on {}, rank 0 on {}: move it to a GPU on all "
      "ranks, or on none",
      rank, place(theirs), place(first));
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

std::string difference(size_t rank, const LayerRecord& theirs,
                       const LayerRecord& first) {
  return first_of(
      {differs(rank, "the name", text_of(theirs.name), text_of(first.name)),
       differs(rank, "a number of elements of", theirs.elements,
               first.elements),
       differs(rank, "a density of", theirs.density, first.density),
       differs(rank, "the residual", residual_name(theirs.residual),
               residual_name(first.residual)),
       differs(rank, "the method", method_name(theirs.method),
               method_name(first.method))});
}

}  // namespace

RankRecord record_of(const ContextOptions& options, size_t layers,
                     const std::string& refusal) {
  RankRecord record;
  record.layers = layers;
  record.bucket_elements = options.bucket_elements;
  record.exact_steps = options.exact_steps;
  record.passes_nonfinite = options.passes_nonfinite ? 1 : 0;
  record.has_device = options.device != nullptr ? 1 : 0;
  record.keep_factor = options.keep_factor;
  record.costs = options.costs;
  copy_text(refusal, record.refusal);
  return record;
}

LayerRecord record_of(const LayerOptions& layer) {
  LayerRecord record;
  record.elements = layer.elements;
  record.density = layer.density;
  record.residual = static_cast<int32_t>(layer.residual);
  if (layer.method) record.method = static_cast<int32_t>(*layer.method);
  copy_text(layer.name, record.name);
  return record;
}

std::string refusal_of(const LayerOptions& layer) {
  const std::string name = fmt::format("layer {}: ", layer.name);
  if (layer.elements == 0) return name + "it has no elements";
  if (layer.elements > std::numeric_limits<uint32_t>::max()) {
    return name +
           fmt::format("{} elements are more than 32 bits count to: split it",
                       layer.elements);
  }
  if (!(layer.density > 0 && layer.density <= 1)) {
    return name + fmt::format("a density of {} is not above 0 and at most 1",
                              layer.density);
  }
  return "";
}

std::string refusal_of(const ContextOptions& options) {
  if (!(options.keep_factor > 0 && std::isfinite(options.keep_factor))) {
    return fmt::format("a keep factor of {} is not above 0",
                       options.keep_factor);
  }
  if (!(options.timeout_s > 0)) {
    return fmt::format("a time-out of {} s is not above 0", options.timeout_s);
  }
  return "";
}

std::string disagreement(std::span<const RankRecord> ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string_view refusal = text_of(ranks[rank].refusal);
    if (!refusal.empty()) return fmt::format("rank {}: {}", rank, refusal);
  }
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const RankRecord &theirs = ranks[rank], &first = ranks[0];
    std::string text = first_of(
        {differs(rank, "a number of layers of", theirs.layers, first.layers),
         differs(rank, "buckets of", theirs.bucket_elements,
                 first.bucket_elements),
         differs(rank, "an exact threshold in steps of", theirs.exact_steps,
                 first.exact_steps),
         differs(rank, "a keep factor of", theirs.keep_factor,
                 first.keep_factor),
         differs(rank, "passing of infinities", theirs.passes_nonfinite,
                 first.passes_nonfinite),
         differs_in_place(rank, theirs, first)});
    if (!text.empty()) return text;
  }
  return "";
}

std::string disagreement(std::span<const LayerRecord> records, int ranks) {
  const size_t layers = records.size() / size_t(ranks);
  for (size_t layer = 0; layer < layers; ++layer) {
    for (size_t rank = 1; rank < size_t(ranks); ++rank) {
      const std::string text =
          difference(rank, records[rank * layers + layer], records[layer]);
      if (!text.empty()) {
        return fmt::format("layer {} ({}): {}", layer,
                           text_of(records[layer].name), text);
      }
    }
  }
  return "";
}

}  // namespace penstock::exchange
