#include "select_ext/allocator/simplex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace penstock::allocator {
namespace {

// A column enters if its gain exceeds its cost by this share of the terms of
// both sums. A smaller excess is rounding: it made two slacks enter in turn
// forever.
constexpr double kGainTolerance = 1e-13;
// Smaller changes of a basic variable are rounding errors.
constexpr double kPivotTolerance = 1e-11;
// Steps closer together than this tie; shorter steps count as no progress.
constexpr double kStepTolerance = 1e-12;
// After this many steps without progress Bland's rule applies: it is slow, but
// cannot cycle.
constexpr int kStalledSteps = 8;

// Values this close to a bound are set to it, so that rounding makes no grants.
constexpr double kBoundTolerance = 1e-12;

using Vector = std::vector<double>;
enum class Place { kLower, kUpper, kBasic };

double snapped(double value) {
  if (value < kBoundTolerance) return 0;
  return value > 1 - kBoundTolerance ? 1 : value;
}

// Variables: the columns, then one slack per row. The first basis is all
// slacks, with every column at 0. It is feasible, so no first phase is needed.
class Simplex {
 public:
  explicit Simplex(const PackingLp& lp)
      : lp_(lp),
        columns_(static_cast<int>(lp.columns.size())),
        place_(columns_ + lp.rows, Place::kLower) {
    for (int row = 0; row < lp.rows; ++row) {
      basis_.push_back(columns_ + row);
      place_[columns_ + row] = Place::kBasic;
    }
  }

  Result<Vector> run(int max_pivots) {
    for (int pivots = 0;; ++pivots) {
      if (!factor()) return limit("a basis is singular");
      const std::optional<int> entering = choose_entering();
      if (!entering) return solution();
      if (pivots == max_pivots) return limit("pivots ran out");
      step(*entering);
    }
  }

 private:
  struct Leaving {
    int row = -1;  // -1: the entering variable reaches its other bound
    double step = 0;
    double pivot = 0;
    Place to = Place::kLower;
  };

  static Error limit(const char* why) {
    return Error{Code::kLimit, 0, std::string("simplex: ") + why};
  }

  double gain(int variable) const {
    return variable < columns_ ? lp_.columns[variable].gain : 0;
  }
  double upper(int variable) const {
    return variable < columns_ ? 1 : std::numeric_limits<double>::infinity();
  }

  // Calls f(row, coefficient) for the entries of a variable's column.
  template <class F>
  void for_entries(int variable, F f) const {
    if (variable >= columns_) return f(variable - columns_, 1.0);
    const PackingLp::Column& column = lp_.columns[variable];
    for (size_t i = 0; i < column.rows.size(); ++i) {
      if (column.use[i] != 0) f(column.rows[i], column.use[i]);
    }
  }

  // Inverts the basis from scratch and computes values and prices. With few
  // rows this costs less than a pass over the columns, and no error
  // accumulates.
  bool factor();
  bool invert_basis();
  std::optional<int> choose_entering() const;
  void step(int entering);
  Vector direction(int entering) const;
  Leaving choose_leaving(int entering, const Vector& change) const;
  bool prefers(const Leaving& a, const Leaving& b) const;
  Vector solution() const;

  const PackingLp& lp_;
  const int columns_;
  std::vector<Place> place_;
  std::vector<int> basis_;       // variable of each row
  std::vector<Vector> inverse_;  // of the basis matrix
  Vector values_;                // of the basic variables
  Vector prices_;                // of the rows
  Vector price_scales_;          // sum of the absolute terms of each price
  int stalled_ = 0;
};

bool Simplex::invert_basis() {
  const int n = lp_.rows;
  std::vector<Vector> work(n, Vector(n, 0));
  inverse_.assign(n, Vector(n, 0));
  for (int i = 0; i < n; ++i) {
    inverse_[i][i] = 1;
    for_entries(basis_[i], [&](int row, double use) { work[row][i] += use; });
  }
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(work[i][k]) > std::abs(work[best][k])) best = i;
    }
    if (std::abs(work[best][k]) < kPivotTolerance * kPivotTolerance) {
      return false;
    }
    std::swap(work[k], work[best]);
    std::swap(inverse_[k], inverse_[best]);
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = work[i][k] / work[k][k];
      if (factor == 0) continue;
      for (int j = 0; j < n; ++j) {
        work[i][j] -= factor * work[k][j];
        inverse_[i][j] -= factor * inverse_[k][j];
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    for (double& entry : inverse_[i]) entry /= work[i][i];
  }
  return true;
}

bool Simplex::factor() {
  if (!invert_basis()) return false;
  Vector left(lp_.rows, 1.0);
  for (int variable = 0; variable < columns_; ++variable) {
    if (place_[variable] != Place::kUpper) continue;
    for_entries(variable, [&](int row, double use) { left[row] -= use; });
  }
  values_.assign(lp_.rows, 0);
  prices_.assign(lp_.rows, 0);
  price_scales_.assign(lp_.rows, 0);
  for (int i = 0; i < lp_.rows; ++i) {
    for (int j = 0; j < lp_.rows; ++j) {
      values_[i] += inverse_[i][j] * left[j];
      const double term = gain(basis_[i]) * inverse_[i][j];
      prices_[j] += term;
      price_scales_[j] += std::abs(term);
    }
  }
  return true;
}

std::optional<int> Simplex::choose_entering() const {
  std::optional<int> best;
  double best_profit = 0;
  for (size_t variable = 0; variable < place_.size(); ++variable) {
    if (place_[variable] == Place::kBasic) continue;
    double cost = 0;
    double scale = gain(variable);
    for_entries(variable, [&](int row, double use) {
      cost += prices_[row] * use;
      scale += price_scales_[row] * use;
    });
    double profit = gain(variable) - cost;
    if (place_[variable] == Place::kUpper) profit = -profit;
    if (profit <= kGainTolerance * scale || profit <= best_profit) continue;
    best = static_cast<int>(variable);
    best_profit = profit;
    if (stalled_ >= kStalledSteps) break;  // Bland: the first
  }
  return best;
}

// Decrease of each basic variable per unit that the entering one leaves its
// bound.
Vector Simplex::direction(int entering) const {
  Vector change(lp_.rows, 0);
  const double sign = place_[entering] == Place::kLower ? 1 : -1;
  for_entries(entering, [&](int row, double use) {
    for (int i = 0; i < lp_.rows; ++i) {
      change[i] += sign * use * inverse_[i][row];
    }
  });
  return change;
}

// Order of two candidate rows: the shorter step first. On a tie the larger
// pivot, which is more accurate, or under Bland's rule the lower variable.
bool Simplex::prefers(const Leaving& a, const Leaving& b) const {
  if (a.step < b.step - kStepTolerance) return true;
  if (a.step > b.step + kStepTolerance || b.row < 0) return false;
  if (stalled_ >= kStalledSteps) return basis_[a.row] < basis_[b.row];
  return std::abs(a.pivot) > std::abs(b.pivot);
}

Simplex::Leaving Simplex::choose_leaving(int entering,
                                         const Vector& change) const {
  Leaving best;
  best.step = upper(entering);
  best.to = place_[entering] == Place::kLower ? Place::kUpper : Place::kLower;
  for (int i = 0; i < lp_.rows; ++i) {
    Leaving row{i, 0, change[i], Place::kLower};
    if (change[i] > kPivotTolerance) {
      row.step = std::max(0.0, values_[i]) / change[i];
    } else if (change[i] < -kPivotTolerance) {
      row.to = Place::kUpper;
      row.step = std::max(0.0, upper(basis_[i]) - values_[i]) / -change[i];
    } else {
      continue;
    }
    if (prefers(row, best)) best = row;
  }
  return best;
}

void Simplex::step(int entering) {
  const Leaving leaving = choose_leaving(entering, direction(entering));
  stalled_ = leaving.step > kStepTolerance ? 0 : stalled_ + 1;
  if (leaving.row < 0) {
    place_[entering] = leaving.to;
    return;
  }
  place_[basis_[leaving.row]] = leaving.to;
  place_[entering] = Place::kBasic;
  basis_[leaving.row] = entering;
}

Vector Simplex::solution() const {
  Vector result(columns_, 0);
  for (int variable = 0; variable < columns_; ++variable) {
    if (place_[variable] == Place::kUpper) result[variable] = 1;
  }
  for (int row = 0; row < lp_.rows; ++row) {
    if (basis_[row] < columns_) {
      result[basis_[row]] = snapped(values_[row]);
    }
  }
  return result;
}

}  // namespace

Result<std::vector<double>> maximise(const PackingLp& lp, int max_pivots) {
  return Simplex(lp).run(max_pivots);
}

}  // namespace penstock::allocator
