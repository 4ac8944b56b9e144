#include "exchange/plan/fit_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace penstock::exchange {
namespace {

constexpr size_t kCosts = 5;
using Row = std::array<double, kCosts>;
// Costs that go together, as those of messages and of bytes do where all
// layers are alike, take many turns.
constexpr int kMostTurns = 100000;
constexpr double kStill = 1e-12;

ExchangeCosts costs_of(const Row& row) {
  return {row[0], row[1], row[2], row[3], row[4]};
}

// How often the exchange pays each cost, which the model is linear in, for each
// second that was measured.
Row shares_of(const MeasuredExchange& one) {
  Row shares{};
  for (size_t i = 0; i < kCosts; ++i) {
    Row unit{};
    unit[i] = 1;
    shares[i] = exchange_s(one.method, one.size, costs_of(unit)) / one.seconds;
  }
  return shares;
}

// The least of |shares x costs - 1|^2 with costs >= 0, one cost after the other
// (it is convex). The columns have length 1 or 0.
Row least_squares(const std::vector<Row>& shares) {
  std::array<Row, kCosts> products{};
  Row towards{};
  for (const Row& row : shares) {
    for (size_t i = 0; i < kCosts; ++i) {
      towards[i] += row[i];
      for (size_t j = 0; j < kCosts; ++j) products[i][j] += row[i] * row[j];
    }
  }
  Row costs{};
  for (int turn = 0; turn < kMostTurns; ++turn) {
    double moved = 0;
    for (size_t i = 0; i < kCosts; ++i) {
      if (products[i][i] == 0) continue;
      double rest = towards[i];
      for (size_t j = 0; j < kCosts; ++j) {
        if (j != i) rest -= products[i][j] * costs[j];
      }
      const double cost = std::max(0.0, rest / products[i][i]);
      moved = std::max(moved, std::fabs(cost - costs[i]));
      costs[i] = cost;
    }
    if (moved < kStill) break;
  }
  return costs;
}

}  // namespace

ExchangeCosts fit_costs(std::span<const MeasuredExchange> measured) {
  std::vector<Row> shares;
  Row lengths{};
  for (const MeasuredExchange& one : measured) {
    shares.push_back(shares_of(one));
    for (size_t i = 0; i < kCosts; ++i) {
      lengths[i] += shares.back()[i] * shares.back()[i];
    }
  }
  for (double& length : lengths) length = length > 0 ? std::sqrt(length) : 1;
  for (Row& row : shares) {
    for (size_t i = 0; i < kCosts; ++i) row[i] /= lengths[i];
  }
  Row costs = least_squares(shares);
  for (size_t i = 0; i < kCosts; ++i) costs[i] /= lengths[i];
  return costs_of(costs);
}

}  // namespace penstock::exchange
