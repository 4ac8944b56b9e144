#include "wire/run_totals.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kRounding = 1e-6;

using Field = std::optional<double> RunTotals::*;
constexpr std::array<Field, 4> kParts = {
    &RunTotals::compute_s, &RunTotals::fetch_stall_s, &RunTotals::prep_stall_s,
    &RunTotals::exchange_stall_s};
constexpr std::array<Field, 3> kCoreSeconds = {
    &RunTotals::home_core_s, &RunTotals::away_core_s, &RunTotals::lent_core_s};

bool is_core_seconds(Field field) {
  return std::find(kCoreSeconds.begin(), kCoreSeconds.end(), field) !=
         kCoreSeconds.end();
}

std::optional<double> lowest(const std::vector<NodeTotals>& nodes,
                             Field field) {
  double low = HUGE_VAL;
  for (const NodeTotals& node : nodes) {
    if (!(node.run.*field)) return std::nullopt;
    low = std::min(low, *(node.run.*field));
  }
  return low;
}

// weigh_by_ranks: the mean, else the sum. nullopt if a node lacks the field.
std::optional<double> added(const std::vector<NodeTotals>& nodes, Field field,
                            bool weigh_by_ranks) {
  double sum = 0, weights = 0;
  for (const NodeTotals& node : nodes) {
    if (!(node.run.*field)) return std::nullopt;
    const double weight = weigh_by_ranks ? node.ranks : 1;
    sum += weight * *(node.run.*field);
    weights += weight;
  }
  return weigh_by_ranks ? sum / weights : sum;
}

}  // namespace

double attributed_s(const RunTotals& run) {
  double sum_s = 0;
  for (const Field part : kParts) sum_s += (run.*part).value_or(0);
  return sum_s;
}

std::optional<double> unattributed_s(const RunTotals& run) {
  if (!run.wall_s) return std::nullopt;
  return std::max(0.0, *run.wall_s - attributed_s(run));
}

std::optional<double> stalled_s(const RunTotals& run) {
  if (!run.fetch_stall_s && !run.prep_stall_s && !run.exchange_stall_s &&
      !run.waited_s) {
    return std::nullopt;
  }
  const double for_data_s =
      run.fetch_stall_s.value_or(0) + run.prep_stall_s.value_or(0);
  const double sum_s = std::max(for_data_s, run.waited_s.value_or(0)) +
                       run.exchange_stall_s.value_or(0);
  return std::min(sum_s, run.wall_s.value_or(sum_s));
}

bool adds_up(const RunTotals& run) {
  return attributed_s(run) <= run.wall_s.value_or(0) * (1 + kRounding);
}

RunTotals within_bounds(RunTotals run) {
  for (const RunField& field : kRunFields) {
    std::optional<double>& value = run.*field.value;
    if (value && !std::isfinite(*value)) value.reset();
    if (value) value = std::clamp(*value, 0.0, field.most);
  }
  if (!adds_up(run)) {
    for (const Field part : kParts) (run.*part).reset();
  }
  return run;
}

RunTotals of_all_nodes(const std::vector<NodeTotals>& nodes) {
  RunTotals all;
  if (nodes.empty()) return all;
  for (const RunField& field : kRunFields) {
    all.*field.value =
        field.value == &RunTotals::floor_samples_per_s
            ? lowest(nodes, field.value)
            : added(nodes, field.value, !is_core_seconds(field.value));
  }
  return all;
}

}  // namespace penstock
