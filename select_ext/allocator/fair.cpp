// Proportional fairness through prices. Given the prices of the resources
// each job chooses its rate alone; prices rise until what is chosen fits. The
// slack that is left, times its price, is the duality gap: it is kept under
// 1e-9 of the sum of weights. docs/model.md, section "Fair".
#include <algorithm>
#include <cmath>
#include <vector>

#include "select_ext/allocator/reduced.h"

namespace penstock::allocator {
namespace {

// How much of a priced resource may stay unused, as a share of what is free.
// Inner searches are finer, so that the outer ones see a smooth function.
constexpr double kCoresWindow = 1e-11;
constexpr double kIngestWindow = 1e-12;
constexpr double kPoolWindow = 1e-13;
constexpr int kMaxSteps = 200;  // of one search; 10 are usual

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

  // Where to look next: on the secant, or in the middle each third time, so
  // that the bracket shrinks whatever the function is like.
  double next() {
    const double span = low_value_ - high_value_;
    if (++steps_ % 3 == 0 || !std::isfinite(span)) return middle();
    const double at = low_ + (high_ - low_) * (low_value_ / span);
    return at > low_ && at < high_ ? at : middle();
  }

  // Illinois rule: a side that stays twice counts half, so that it moves.
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
  // Prices spread over many powers of ten.
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
  // Pools do not share jobs: given the other prices each is settled alone.
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

  // Sets the row's price so that its use, which falls as the price rises,
  // fits, and is all but the window where the price is not 0. No price over
  // the sum of weights is needed: see docs/model.md.
  template <class Use>
  void settle_row(int row, double window, Use use) {
    price_[row] = 0;
    if (!reduced_.can_bind[row]) return;
    const double use_for_nothing = use();
    if (use_for_nothing <= 1) return;
    // 1/use is all but linear in the price: one job alone has w/(price + c).
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

  // Lets every job choose at the present prices; returns the use of a row.
  double choose_rates(int counted_row) {
    double use = 0;
    for (size_t j = 0; j < rates_.size(); ++j) {
      use += choose_rate(j, counted_row);
    }
    return use;
  }

  // The rate at which a job's gain, weight/rate, comes down to its price.
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
  std::vector<double> price_;  // of all that is free of the row
  std::vector<double> rates_;
  double highest_price_ = 0;
};

}  // namespace

std::vector<double> solve_fair(const Reduced& reduced) {
  return Market(reduced).settle();
}

}  // namespace penstock::allocator
