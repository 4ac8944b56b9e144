// Messages between `penstock analyze` and the ranks that it measures: lines of
// JSON over TCP (docs/protocol.md, "Analysis"). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/result.h"

namespace penstock {

inline constexpr const char* kAnalysisVariable = "PENSTOCK_ANALYZE";
inline constexpr size_t kMaxAnalysisLineBytes = 65536;
inline constexpr size_t kAnalysisSecretDigits = 32;  // hexadecimal
inline constexpr uint32_t kMaxAnalysisRanks = 65536;

// Value of kAnalysisVariable: "HOST:PORT:SECRET".
struct AnalysisAddress {
  std::string host;
  uint16_t port = 0;
  std::string secret;
};
std::string to_text(const AnalysisAddress& address);
// Errors: kInvalidArgument
[[nodiscard]] Result<AnalysisAddress> parse_analysis_address(
    std::string_view text);

// Source of a cell's data.
enum class AnalysisFeed {
  kReplay,  // the first batch again and again; loads nothing
  kMemory,  // a subset of the samples, from the page cache
  kCold,    // samples removed from the page cache just before the read
};

// One measurement; a rank works on it until the next order.
struct AnalysisCell {
  uint32_t cell = 0;
  AnalysisFeed data = AnalysisFeed::kReplay;
  bool train = true;  // false: draw batches and discard them
  // Limits for this rank; nullopt: none.
  std::optional<double> cores;
  std::optional<double> bytes_per_s;
  uint64_t subset_samples = 1;

  friend bool operator==(const AnalysisCell&, const AnalysisCell&) = default;
};
struct AnalysisHold {};
struct AnalysisAdvance {};
struct AnalysisEnd {};
using AnalysisOrder =
    std::variant<AnalysisCell, AnalysisHold, AnalysisAdvance, AnalysisEnd>;

struct AnalysisHello {
  std::string secret;
  uint32_t rank = 0;
  uint32_t ranks = 1;
  std::string node;
  std::string source;  // "python watch", "penstock-train"
  std::optional<uint64_t> batch_samples;
  std::optional<uint64_t> workers;
  std::optional<uint64_t> dataset_samples;
  std::optional<double> dataset_bytes;
  std::optional<double> cache_bytes;  // page cache available on this node
  uint32_t cpus = 1;
  bool can_memory = true;  // the rank supports kMemory
  std::string cold;        // method for kCold ("fadvise", "direct"); "": none
  std::string why;         // why `cold` is ""
  std::string filesystem;  // of the data, "ext4"; "": unknown
};
// Sent at a batch's end, on AnalysisHold.
struct AnalysisHeld {
  uint64_t steps = 0;  // batches given to the training loop so far
};
struct AnalysisReady {
  uint32_t cell = 0;
  std::string cores_by;        // "quota", "affinity"; "": not limited
  std::string bytes_per_s_by;  // "kernel"; "": not limited
  std::string why;             // why a requested limit is not in force
};
// Lists: one entry per batch since the last message. Sums: since the hello.
struct AnalysisBatches {
  uint32_t cell = 0;
  std::vector<uint64_t> end_ns;  // CLOCK_MONOTONIC, ascending
  std::vector<uint64_t> samples;
  std::vector<uint64_t> wait_ns;
  double cpu_s = 0;           // of trainer and loader
  double read_bytes = 0;      // from storage
  double consumed_bytes = 0;  // read by the loader, from any source
  std::optional<double> memory_bytes_per_s;
};
using AnalysisAnswer =
    std::variant<AnalysisHello, AnalysisHeld, AnalysisReady, AnalysisBatches>;

// One line, with its newline. Replaces invalid UTF-8 in texts.
std::string to_line(const AnalysisOrder& order);
std::string to_line(const AnalysisAnswer& answer);

// line: without its newline; any bytes. Ignores unknown keys.
// Errors: kInvalidArgument  the message names the key
//         kLimit            over kMaxAnalysisLineBytes
[[nodiscard]] Result<AnalysisOrder> parse_order(std::string_view line);
[[nodiscard]] Result<AnalysisAnswer> parse_answer(std::string_view line);

// "replay", "memory", "cold"
const char* feed_name(AnalysisFeed feed);

}  // namespace penstock
