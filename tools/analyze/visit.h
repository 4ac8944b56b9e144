// What was seen of one cell at one time, and what its rates come to. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/analysis_messages.h"

namespace penstock {

// What a rank did in a cell: what its messages held after the first, whose sums
// are where these begin.
struct RankVisit {
  uint64_t begin_ns = 0;  // its clock: the end of a batch
  uint64_t end_ns = 0;
  uint64_t batches = 0;  // in between
  double samples = 0;
  double cpu_s = 0;
  double read_bytes = 0;
  double consumed_bytes = 0;
  std::optional<double> memory_bytes_per_s;

  double seconds() const { return double(end_ns - begin_ns) * 1e-9; }
  double samples_per_s() const { return samples / seconds(); }
};

struct Visit {
  AnalysisCell cell;
  std::map<uint32_t, RankVisit> ranks;
  // How the limits were kept; of the first rank that could not.
  AnalysisReady limits;
};

// Collects a rank's messages of one cell.
class VisitBuilder {
 public:
  void add(const AnalysisBatches& batches);
  // nullopt before two messages have come.
  std::optional<RankVisit> visit() const;

 private:
  std::optional<AnalysisBatches> first_;
  RankVisit visit_;
};

// A figure of several visits: their median, and the interval in which the
// median of all such visits is expected with about 95%, by Student's t of the
// visits' scatter as if it were a mean. One visit has no interval.
struct VisitFigure {
  double median = 0;
  double low = 0;
  double high = 0;
  size_t visits = 0;

  // (high - low) / median; infinite for fewer than three visits, which scatter
  // by chance as little as one likes.
  double relative_width() const;
};
// values: all positive. Empty: all zero.
VisitFigure figure_of(std::vector<double> values);

// Has drifted where the medians of the first and the last half of at least
// four values differ by more than 10% and more than both halves' ranges.
bool has_drifted(const std::vector<double>& values);

}  // namespace penstock
