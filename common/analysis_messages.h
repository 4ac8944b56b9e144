// What `penstock analyze` and the ranks that it measures tell each other
// (docs/protocol.md, "Analysis"): lines of JSON over TCP. Pure.
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

// The variable's value, "HOST:PORT:SECRET".
struct AnalysisAddress {
  std::string host;
  uint16_t port = 0;
  std::string secret;
};
std::string to_text(const AnalysisAddress& address);
// Errors: kInvalidArgument
[[nodiscard]] Result<AnalysisAddress> parse_analysis_address(
    std::string_view text);

// What the data of a cell is.
enum class AnalysisFeed {
  kReplay,  // the first batch, again and again: nothing is loaded
  kMemory,  // a subset of the samples, from the page cache
  kCold,    // samples that the page cache has just lost
};

// What a rank does until the next one comes.
struct AnalysisCell {
  uint32_t cell = 0;
  AnalysisFeed data = AnalysisFeed::kReplay;
  bool train = true;  // false: batches are drawn and thrown away, untrained
  // Limits of the rank; nullopt: none.
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
  std::optional<double> cache_bytes;  // that page cache may have here
  uint32_t cpus = 1;
  bool can_memory = true;  // feeds may be taken from a subset
  std::string cold;        // how files are made cold; "": they are not
  std::string why;         // why not
  std::string filesystem;  // of the data, "ext4"; "": unknown
};
// At a batch's end, having yielded so many to the training loop.
struct AnalysisHeld {
  uint64_t steps = 0;
};
struct AnalysisReady {
  uint32_t cell = 0;
  std::string cores_by;        // "quota", "affinity"; "": not limited
  std::string bytes_per_s_by;  // "kernel"; "": not limited
  std::string why;             // where a limit was asked for and is none
};
// One entry for each batch since the last; the sums are since the hello.
struct AnalysisBatches {
  uint32_t cell = 0;
  std::vector<uint64_t> end_ns;  // CLOCK_MONOTONIC, ascending
  std::vector<uint64_t> samples;
  std::vector<uint64_t> wait_ns;
  double cpu_s = 0;           // of trainer and loader
  double read_bytes = 0;      // from storage
  double consumed_bytes = 0;  // read at all
  std::optional<double> memory_bytes_per_s;
};
using AnalysisAnswer =
    std::variant<AnalysisHello, AnalysisHeld, AnalysisReady, AnalysisBatches>;

// One line, with its newline. Texts that are no UTF-8 are mended.
std::string to_line(const AnalysisOrder& order);
std::string to_line(const AnalysisAnswer& answer);

// line: without its newline; may be anything. Keys that are not known are
// ignored.
// Errors: kInvalidArgument  names the key
//         kLimit            over kMaxAnalysisLineBytes
[[nodiscard]] Result<AnalysisOrder> parse_order(std::string_view line);
[[nodiscard]] Result<AnalysisAnswer> parse_answer(std::string_view line);

// "replay", "memory", "cold"
const char* feed_name(AnalysisFeed feed);

}  // namespace penstock
