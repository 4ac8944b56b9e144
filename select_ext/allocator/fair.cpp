// Proportional fairness through prices. At given prices each job chooses its
// rate independently; prices rise until the chosen rates fit. The duality gap
// is the sum of price x slack, kept under 1e-9 of the sum of weights.
// docs/model.md, section "Fair".
#include <algorithm>
#include <cmath>
#include <vector>

#include "select_ext/allocator/reduced.h"

namespace penstock::allocator {
namespace {

// Share of a priced resource's free capacity that may stay unused. Inner
// searches are finer, so that the outer searches see a smooth function.
constexpr double kCoresWindow = 1e-11;
constexpr double kIngestWindow = 1e-12;
constexpr double kPoolWindow = 1e-13;
constexpr int kMaxSteps = 200;  // of one search; 10 are typical

// Finds a zero of a falling function from points on both sides of it.
class Bracket {
 public:
  Bracket(double low, double low_value, double high, double high_value)
      : low_(low),
        low_value_(low_value),
        high_(high),
        high_value_(high_value) {}

  double high() const { return high_; }
  bool is_closed() const { return high_ - low_ <= 1e-15 * high_; }

  // The next point: on the secant, or every third time in the middle, so that
  // the bracket shrinks for any function.
  double next() {
    const double span = low_value_ - high_value_;
    if (++steps_ % 3 == 0 || !std::isfinite(span)) return middle();
    const double at = low_ + (high_ - low_) * (low_value_ / span);
    return at > low_ && at < high_ ? at : middle();
  }

  // Illinois rule: the value of an end that stays twice is halved, so that the
  // secant moves that end.
  void update(double at, double value) {
    const bool is_low = value > 0;
    if (is_low) {
      low_ = at;
      low_value_ = value;
      if (was_low_ == 1) high_value_ /= 2;
    } else {
      high_ = at;
      high_value_ = value;
      if (was_low_ == 0) low_value_ /= 2;
    }
    was_low_ = is_low;
  }

 private:
  // Geometric mean, because prices span many powers of ten.
  double middle() const {
    return low_ > 0 ? std::sqrt(low_ * high_) : high_ / 64;
  }

  double low_, low_value_, high_, high_value_;
  int steps_ = 0;
  int was_low_ = -1;
};

class Market {
 public:
  explicit Market(const Reduced& reduced)
      : reduced_(reduced),
        price_(reduced.can_bind.size(), 0),
        rates_(reduced.jobs.size(), 0) {
    for (const ReducedJob& job : reduced.jobs) highest_price_ += job.weight;
  }

  std::vector<double> settle() {
    settle_cores();
    return rates_;
  }

 private:
  // No job uses two pools, so given the other prices each pool is priced alone.
  double settle_pools(int counted_row) {
    const int rows = static_cast<int>(price_.size());
    for (int row = kFirstPoolRow; row < rows; ++row) {
      settle_row(row, kPoolWindow, [&] { return choose_rates(row); });
    }
    return choose_rates(counted_row);
  }
  double settle_ingest(int counted_row) {
    settle_row(kIngestRow, kIngestWindow,
               [&] { return settle_pools(kIngestRow); });
    return settle_pools(counted_row);
  }
  void settle_cores() {
    settle_row(kCoresRow, kCoresWindow,
               [&] { return settle_ingest(kCoresRow); });
    settle_ingest(kCoresRow);
  }

  // Sets the row's price. Use falls as the price rises; it must fit, and a
  // price over 0 may leave at most `window` unused. The sum of weights bounds
  // the price (docs/model.md, "Fair").
  template <class Use>
  void settle_row(int row, double window, Use use) {
    price_[row] = 0;
    if (!reduced_.can_bind[row]) return;
    const double use_for_nothing = use();
    if (use_for_nothing <= 1) return;
    // 1/use is nearly linear in the price: a single job uses w/(price + c).
    const double target = 1 / (1 - window / 2);
    const auto value = [&](double used) { return target - 1 / used; };
    price_[row] = highest_price_;
    Bracket bracket(0, value(use_for_nothing), highest_price_, value(use()));
    for (int step = 0; step < kMaxSteps && !bracket.is_closed(); ++step) {
      price_[row] = bracket.next();
      const double used = use();
      if (used <= 1 && used >= 1 - window) return;
      bracket.update(price_[row], value(used));
    }
    price_[row] = bracket.high();
  }

  // Sets every job's rate for the present prices; returns the use of
  // `counted_row`.
  double choose_rates(int counted_row) {
    double use = 0;
    for (size_t j = 0; j < rates_.size(); ++j) {
      use += choose_rate(j, counted_row);
    }
    return use;
  }

  // The rate at which a job's marginal gain, weight/rate, equals its price per
  // unit of rate.
  double choose_rate(size_t j, int counted_row) {
    const ReducedJob& job = reduced_.jobs[j];
    double rate = job.floor;
    double use = 0;
    for (const Piece& piece : job.pieces) {
      double price = 0;
      double counted = 0;
      for (size_t i = 0; i < job.rows.size(); ++i) {
        price += price_[job.rows[i]] * piece.use_per_rate[i];
        if (job.rows[i] == counted_row) counted += piece.use_per_rate[i];
      }
      const bool reaches_end = price * piece.end_rate <= job.weight;
      const double end = reaches_end ? piece.end_rate : job.weight / price;
      if (end <= piece.start_rate) break;
      use += counted * (end - piece.start_rate);
      rate = end;
      if (!reaches_end) break;
    }
    rates_[j] = rate;
    return use;
  }

  const Reduced& reduced_;
  std::vector<double> price_;  // of all free capacity of the row
  std::vector<double> rates_;
  double highest_price_ = 0;
};

}  // namespace

std::vector<double> solve_fair(const Reduced& reduced) {
  return Market(reduced).settle();
}

}  // namespace penstock::allocator
