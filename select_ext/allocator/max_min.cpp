// Water-filling: the level rate/ceiling of all jobs rises together. A job joins
// when the level reaches its floor, and stops for good when a resource that its
// next piece needs is used up. docs/model.md, section "Max-min".
#include <algorithm>
#include <limits>

#include "select_ext/allocator/reduced.h"

namespace penstock::allocator {
namespace {

// A resource with less than this share left is used up: the sums are no more
// exact.
constexpr double kUsedUp = 1e-14;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class WaterFilling {
 public:
  explicit WaterFilling(const Reduced& reduced)
      : reduced_(reduced),
        next_piece_(reduced.jobs.size(), 0),
        left_(reduced.can_bind.size(), 1.0) {
    for (const ReducedJob& job : reduced.jobs) rates_.push_back(job.floor);
  }

  std::vector<double> run() {
    while (true) {
      skip_finished();
      const double bend = next_bend();
      if (bend == kInfinity) return rates_;
      const std::vector<double> use = use_per_level();
      double rise = bend - level_;
      int first_out = -1;
      for (size_t row = 0; row < left_.size(); ++row) {
        if (use[row] <= 0 || use[row] * rise < left_[row]) continue;
        rise = left_[row] / use[row];
        first_out = static_cast<int>(row);
      }
      raise(first_out < 0 ? bend : level_ + rise, rise, use);
      if (first_out >= 0) left_[first_out] = 0;
    }
  }

 private:
  // The only formula for a level, so that a level set from a rate compares
  // equal to the level of that rate.
  static double level_at(const ReducedJob& job, double rate) {
    return rate / job.ceiling;
  }

  // True if the resources that `piece` needs are not used up.
  bool can_pay(const ReducedJob& job, const Piece& piece) const {
    for (size_t i = 0; i < job.rows.size(); ++i) {
      const int row = job.rows[i];
      if (!reduced_.can_bind[row] || piece.use_per_rate[i] == 0) continue;
      if (left_[row] <= kUsedUp) return false;
    }
    return true;
  }

  bool is_growing(size_t j) const {
    const ReducedJob& job = reduced_.jobs[j];
    return next_piece_[j] < job.pieces.size() &&
           level_at(job, job.pieces[next_piece_[j]].start_rate) <= level_;
  }

  // Advances each job past its full pieces, and ends a job that cannot pay.
  void skip_finished() {
    for (size_t j = 0; j < rates_.size(); ++j) {
      const ReducedJob& job = reduced_.jobs[j];
      size_t& next = next_piece_[j];
      while (next < job.pieces.size() &&
             level_at(job, job.pieces[next].end_rate) <= level_) {
        ++next;
      }
      if (next < job.pieces.size() && !can_pay(job, job.pieces[next])) {
        next = job.pieces.size();
      }
    }
  }

  // The next level at which a job joins or comes to the end of a piece.
  double next_bend() const {
    double bend = kInfinity;
    for (size_t j = 0; j < rates_.size(); ++j) {
      const ReducedJob& job = reduced_.jobs[j];
      if (next_piece_[j] == job.pieces.size()) continue;
      const Piece& piece = job.pieces[next_piece_[j]];
      const double rate = is_growing(j) ? piece.end_rate : piece.start_rate;
      bend = std::min(bend, level_at(job, rate));
    }
    return bend;
  }

  std::vector<double> use_per_level() const {
    std::vector<double> use(left_.size(), 0);
    for (size_t j = 0; j < rates_.size(); ++j) {
      if (!is_growing(j)) continue;
      const ReducedJob& job = reduced_.jobs[j];
      const Piece& piece = job.pieces[next_piece_[j]];
      for (size_t i = 0; i < job.rows.size(); ++i) {
        if (!reduced_.can_bind[job.rows[i]]) continue;
        use[job.rows[i]] += piece.use_per_rate[i] * job.ceiling;
      }
    }
    return use;
  }

  void raise(double level, double rise, const std::vector<double>& use) {
    for (size_t j = 0; j < rates_.size(); ++j) {
      if (!is_growing(j)) continue;
      const ReducedJob& job = reduced_.jobs[j];
      const double end = job.pieces[next_piece_[j]].end_rate;
      rates_[j] = std::clamp(level * job.ceiling, rates_[j], end);
    }
    level_ = level;
    for (size_t row = 0; row < left_.size(); ++row) {
      left_[row] -= use[row] * rise;
    }
  }

  const Reduced& reduced_;
  double level_ = 0;
  std::vector<double> rates_;
  std::vector<size_t> next_piece_;
  std::vector<double> left_;  // share of each row
};

}  // namespace

std::vector<double> solve_max_min(const Reduced& reduced) {
  return WaterFilling(reduced).run();
}

}  // namespace penstock::allocator
