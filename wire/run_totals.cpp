#include "wire/run_totals.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kRounding = 1e-6;

std::optional<double> of_nodes(const std::vector<NodeTotals>& nodes,
                               const RunField& field) {
  using enum RunField::OfNodes;
  const bool of_known =
      field.of_nodes == kKnownSum || field.of_nodes == kKnownHighest;
  double low = HUGE_VAL, high = 0, sum = 0, weights = 0;
  for (const NodeTotals& node : nodes) {
    const std::optional<double>& value = field.of(node.run);
    if (!value && of_known) continue;
    if (!value) return std::nullopt;
    const double weight = field.of_nodes == kMean ? node.ranks : 1;
    low = std::min(low, *value);
    high = std::max(high, *value);
    sum += weight * *value;
    weights += weight;
  }
  if (field.of_nodes == kLowest) return low;
  if (of_known && !(weights > 0)) return std::nullopt;
  if (field.of_nodes == kKnownHighest) return high;
  return field.of_nodes == kMean ? sum / weights : sum;
}

}  // namespace

double attributed_s(const RunTotals& run) {
  double sum_s = 0;
  for (const WallPartNames& it : kWallParts) {
    sum_s += run.parts_s[it.part].value_or(0);
  }
  return sum_s;
}

std::optional<double> unattributed_s(const RunTotals& run) {
  if (!run.wall_s) return std::nullopt;
  return std::max(0.0, *run.wall_s - attributed_s(run));
}

std::optional<double> stalled_s(const RunTotals& run) {
  bool is_known = run.waited_s.has_value();
  double for_data_s = 0, other_s = 0;
  for (const WallPartNames& it : kWallParts) {
    const std::optional<double>& part_s = run.parts_s[it.part];
    if (!is_stall(it.part) || !part_s) continue;
    is_known = true;
    (waits_for_data(it.part) ? for_data_s : other_s) += *part_s;
  }
  if (!is_known) return std::nullopt;
  const double sum_s = std::max(for_data_s, run.waited_s.value_or(0)) + other_s;
  return std::min(sum_s, run.wall_s.value_or(sum_s));
}

bool adds_up(const RunTotals& run) {
  return attributed_s(run) <= run.wall_s.value_or(0) * (1 + kRounding);
}

RunTotals within_bounds(RunTotals run) {
  for (const RunField& field : kRunFields) {
    std::optional<double>& value = field.of(run);
    if (value && !std::isfinite(*value)) value.reset();
    if (value) value = std::clamp(*value, 0.0, field.most);
  }
  if (!adds_up(run)) run.parts_s = {};
  return run;
}

RunTotals of_all_nodes(const std::vector<NodeTotals>& nodes) {
  RunTotals all;
  if (nodes.empty()) return all;
  for (const RunField& field : kRunFields) {
    field.of(all) = of_nodes(nodes, field);
  }
  return all;
}

}  // namespace penstock
