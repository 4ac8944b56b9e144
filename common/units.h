// Parsers and formatters for rates, sizes, durations and CPU lists. Pure.
// Uses only the C++ standard library: the SPANK plugin compiles units.cpp too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"

namespace penstock {

// Parses "200M": bytes per second. Suffixes K M G T (or k m g t)
// are powers of 1024, as in Slurm; an optional "B", "iB" or "/s" may follow
// ("200MB/s"). Fractions are allowed ("1.5G"); the result is rounded to whole
// bytes.
// Errors: kInvalidArgument  empty, negative, zero, trailing text, over 2^62.
[[nodiscard]] Result<uint64_t> parse_rate_bytes_per_s(std::string_view text);

// Parses "40G": bytes, as parse_rate_bytes_per_s() but without "/s".
// Errors: the same.
[[nodiscard]] Result<uint64_t> parse_size_bytes(std::string_view text);

// Parses "2ms": a number with ns, us, ms or s, at most an hour. Fractions are
// allowed; the result is rounded to whole nanoseconds.
// Errors: kInvalidArgument  empty, negative, no unit, trailing text, over 1 h.
[[nodiscard]] Result<uint64_t> parse_duration_ns(std::string_view text);

// Text for people, like "1.5 GB/s": at most three significant digits, powers
// of 1024; "unknown" if the number is not finite.
std::string format_rate(double bytes_per_s);
std::string format_bytes(double bytes);

// The shortest decimal text that parses to the same number.
std::string format_number(double value);

// Parses a decimal integer in [low, high]; no sign, no spaces, no suffix.
// Errors: kInvalidArgument  "... must be LOW to HIGH".
[[nodiscard]] Result<uint64_t> parse_uint(std::string_view text, uint64_t low,
                                          uint64_t high);
// Parses a finite decimal number in [low, high].
// Errors: kInvalidArgument  "... must be LOW to HIGH".
[[nodiscard]] Result<double> parse_number(std::string_view text, double low,
                                          double high);

// Whether text is 1 to 64 letters, digits, '.', '_' or '-'.
bool is_name(std::string_view text);

// Changes ASCII letters only.
std::string lower_case(std::string_view text);

// Makes foreign text fit for a one-line message: at most max_bytes, then "...";
// every byte outside printable ASCII becomes '?'.
std::string printable(std::string_view text, size_t max_bytes = 80);

// printable() between double quotes.
std::string quoted(std::string_view text);

// A set of CPU numbers, as in cpuset.cpus: "0-3,8". At most 4096 CPUs.
class CpuSet {
 public:
  static constexpr int kMaxCpus = 4096;

  CpuSet() = default;
  // Sorts, removes duplicates and numbers outside 0..kMaxCpus-1.
  explicit CpuSet(std::vector<int> cpus);

  // Empty or blank text is the empty set.
  // Errors: kInvalidArgument  malformed, descending range, CPU over 4095.
  [[nodiscard]] static Result<CpuSet> parse(std::string_view text);
  std::string to_string() const;

  bool empty() const { return cpus_.empty(); }
  size_t size() const { return cpus_.size(); }
  bool contains(int cpu) const;
  const std::vector<int>& cpus() const& { return cpus_; }  // ascending
  std::vector<int> cpus() && { return std::move(cpus_); }

  friend CpuSet operator|(const CpuSet& a, const CpuSet& b);  // union
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);  // intersection
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);  // difference
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<int> cpus_;
};

}  // namespace penstock
