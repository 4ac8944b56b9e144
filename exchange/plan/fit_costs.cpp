#include "exchange/plan/fit_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace penstock::exchange {
namespace {

constexpr size_t kCosts = 5;
using Row = std::array<double, kCosts>;
// Correlated costs converge slowly, such as those of messages and of bytes if
// all layers have one size.
constexpr int kMostTurns = 100000;
constexpr double kStill = 1e-12;  // relative to the largest possible cost

ExchangeCosts costs_of(const Row& row) {
  return {row[0], row[1], row[2], row[3], row[4]};
}

// shares x costs = weight, if the model predicts the exchange exactly.
struct Equation {
  Row shares{};
  double weight = 0;
};

// The model is linear: exchange_s() of a unit cost is that cost's coefficient.
// It is divided by the measured seconds, so that errors are relative.
Equation equation_of(const MeasuredExchange& one) {
  Equation out;
  out.weight = std::sqrt(double(one.size.elements));
  for (size_t i = 0; i < kCosts; ++i) {
    Row unit{};
    unit[i] = 1;
    out.shares[i] = out.weight / one.seconds *
                    exchange_s(one.method, one.size, costs_of(unit));
  }
  return out;
}

// Minimises |shares x costs - weights|^2 with costs >= 0 by coordinate descent,
// which converges because the problem is convex. The columns of shares have
// length 1 or 0.
Row least_squares(const std::vector<Equation>& equations) {
  std::array<Row, kCosts> products{};
  Row towards{};
  for (const auto& [row, weight] : equations) {
    for (size_t i = 0; i < kCosts; ++i) {
      towards[i] += row[i] * weight;
      for (size_t j = 0; j < kCosts; ++j) products[i][j] += row[i] * row[j];
    }
  }
  const double largest = *std::max_element(towards.begin(), towards.end());
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
    if (moved <= kStill * largest) break;
  }
  return costs;
}

}  // namespace

ExchangeCosts fit_costs(std::span<const MeasuredExchange> measured) {
  std::vector<Equation> equations;
  Row lengths{};
  for (const MeasuredExchange& one : measured) {
    equations.push_back(equation_of(one));
    const Row& row = equations.back().shares;
    for (size_t i = 0; i < kCosts; ++i) lengths[i] += row[i] * row[i];
  }
  for (double& length : lengths) length = length > 0 ? std::sqrt(length) : 1;
  for (Equation& one : equations) {
    for (size_t i = 0; i < kCosts; ++i) one.shares[i] /= lengths[i];
  }
  Row costs = least_squares(equations);
  for (size_t i = 0; i < kCosts; ++i) costs[i] /= lengths[i];
  return costs_of(costs);
}

}  // namespace penstock::exchange
