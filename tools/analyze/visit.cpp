#include "tools/analyze/visit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "predictor/quantiles.h"

namespace penstock {
namespace {

constexpr double kDrift = 0.10;

// Student's t at 97.5% for n - 1 degrees of freedom, n from 2.
double student_t(size_t n) {
  constexpr double kTable[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                               2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  return n - 2 < std::size(kTable) ? kTable[n - 2] : 2.08;
}

}  // namespace

void VisitBuilder::add(const AnalysisBatches& batches) {
  if (batches.memory_bytes_per_s) {
    visit_.memory_bytes_per_s = batches.memory_bytes_per_s;
  }
  if (batches.end_ns.empty()) return;
  if (!first_) {
    first_ = batches;
    visit_.begin_ns = visit_.end_ns = batches.end_ns.back();
    return;
  }
  visit_.end_ns = std::max(visit_.end_ns, batches.end_ns.back());
  visit_.batches += batches.end_ns.size();
  for (uint64_t samples : batches.samples) visit_.samples += double(samples);
  visit_.cpu_s = std::max(0.0, batches.cpu_s - first_->cpu_s);
  visit_.read_bytes = std::max(0.0, batches.read_bytes - first_->read_bytes);
  visit_.consumed_bytes =
      std::max(0.0, batches.consumed_bytes - first_->consumed_bytes);
}

std::optional<RankVisit> VisitBuilder::visit() const {
  if (visit_.end_ns <= visit_.begin_ns || visit_.samples <= 0) {
    return std::nullopt;
  }
  return visit_;
}

double VisitFigure::relative_width() const {
  if (visits < 3 || !(median > 0)) {
    return std::numeric_limits<double>::infinity();
  }
  return (high - low) / median;
}

VisitFigure figure_of(std::vector<double> values) {
  VisitFigure figure;
  figure.visits = values.size();
  if (values.empty()) return figure;
  figure.median = figure.low = figure.high = quantile(values, 0.5);
  if (values.size() < 2) return figure;
  const double n = double(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double half =
      student_t(values.size()) * std::sqrt(squares / (n - 1) / n);
  figure.low = std::max(0.0, figure.median - half);
  figure.high = figure.median + half;
  return figure;
}

bool has_drifted(const std::vector<double>& values) {
  if (values.size() < 4) return false;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  const std::vector<double> first(values.begin(), middle);
  const std::vector<double> last(middle, values.end());
  const double before = quantile(first, 0.5);
  const double after = quantile(last, 0.5);
  if (std::abs(after - before) <= kDrift * std::max(before, after)) {
    return false;
  }
  const auto [low1, high1] = std::minmax_element(first.begin(), first.end());
  const auto [low2, high2] = std::minmax_element(last.begin(), last.end());
  return *high1 < *low2 || *high2 < *low1;
}

}  // namespace penstock
