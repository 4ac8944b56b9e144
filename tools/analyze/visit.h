// Measurements of one visit to a cell, and statistics of its rates. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/analysis_messages.h"

namespace penstock {

// A rank's measurements in a cell: the messages after the first one, whose sums
// are the baseline.
struct RankVisit {
  uint64_t begin_ns = 0;  // the rank's clock: the end of a batch
  uint64_t end_ns = 0;
  uint64_t batches = 0;  // between begin and end
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
  // Enforcement of the limits; of the first rank that could not keep one.
  AnalysisReady limits;
};

// Collects a rank's messages of one cell.
class VisitBuilder {
 public:
  void add(const AnalysisBatches& batches);
  // nullopt before the second message.
  std::optional<RankVisit> visit() const;

 private:
  std::optional<AnalysisBatches> first_;
  RankVisit visit_;
};

// A figure of several visits: their median with an interval of about 95%. The
// interval is Student's t of the visits' scatter, as if the median were a mean.
// One visit has no interval.
struct VisitFigure {
  double median = 0;
  double low = 0;
  double high = 0;
  size_t visits = 0;

  // (high - low) / median; infinite below three visits, whose scatter may be
  // small by chance.
  double relative_width() const;
};
// values: all positive. Empty: all fields 0.
VisitFigure figure_of(std::vector<double> values);

// True for at least four values whose first and last halves have medians that
// differ by more than 10%, and ranges that do not overlap.
bool has_drifted(const std::vector<double>& values);

}  // namespace penstock
