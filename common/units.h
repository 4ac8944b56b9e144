// Rates, sizes, and CPU lists as users and kernels write them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

// Parses "200M" (bytes per second, or bytes). Suffixes K M G T are powers of
// 1024, as in Slurm; an optional "B", "iB" or "/s" may follow ("200MB/s").
// Fractions are allowed ("1.5G").
// Errors: kInvalidArgument  empty, negative, zero, trailing text, over 2^62.
[[nodiscard]] Result<uint64_t> parse_rate_bytes_per_s(std::string_view text);

// "1.5 GB/s"-like text for people: three significant digits, powers of 1024.
std::string format_rate(double bytes_per_s);
std::string format_bytes(double bytes);

// Parses a decimal integer in [low, high]; no sign, no spaces, no suffix.
[[nodiscard]] Result<uint64_t> parse_uint(std::string_view text, uint64_t low,
                                          uint64_t high);
// Parses a finite decimal number in [low, high].
[[nodiscard]] Result<double> parse_number(std::string_view text, double low,
                                          double high);

// A set of CPU numbers, as in cpuset.cpus: "0-3,8". At most 4096 CPUs.
class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<int> cpus);  // sorts and removes doubles

  // Errors: kInvalidArgument  malformed, descending range, CPU over 4095.
  // An empty text, or one of only white space, is the empty set.
  static Result<CpuSet> parse(std::string_view text);
  std::string to_string() const;

  bool empty() const { return cpus_.empty(); }
  size_t size() const { return cpus_.size(); }
  bool contains(int cpu) const;
  const std::vector<int>& cpus() const { return cpus_; }  // ascending

  friend CpuSet operator|(const CpuSet& a, const CpuSet& b);  // union
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);  // intersection
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);  // difference
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<int> cpus_;
};

}  // namespace penstock
