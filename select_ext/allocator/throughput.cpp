#include "select_ext/allocator/reduced.h"
#include "select_ext/allocator/simplex.h"

namespace penstock::allocator {
namespace {

// Row of the linear program by row of the problem; -1: cannot bind.
std::vector<int> number_binding_rows(const Reduced& reduced) {
  std::vector<int> numbers;
  int next = 0;
  for (bool can_bind : reduced.can_bind) {
    numbers.push_back(can_bind ? next++ : -1);
  }
  return numbers;
}

// A column is one piece of one job, filled from 0 to 1. The costs of a job's
// pieces rise, so an optimum fills them in order.
PackingLp build_lp(const Reduced& reduced) {
  const std::vector<int> numbers = number_binding_rows(reduced);
  PackingLp lp;
  for (int number : numbers) lp.rows += number >= 0;
  for (const ReducedJob& job : reduced.jobs) {
    for (const Piece& piece : job.pieces) {
      const double length = piece.end_rate - piece.start_rate;
      PackingLp::Column column;
      column.gain = job.weight * length / job.ceiling;
      for (size_t i = 0; i < job.rows.size(); ++i) {
        const int row = numbers[job.rows[i]];
        if (row < 0) continue;
        column.rows[i] = row;
        column.use[i] = piece.use_per_rate[i] * length;
      }
      lp.columns.push_back(column);
    }
  }
  return lp;
}

// Far more than any problem needs: a few pivots per column are typical.
int pivot_limit(const PackingLp& lp) {
  const size_t variables = lp.columns.size() + static_cast<size_t>(lp.rows);
  return static_cast<int>(1000 + 100 * variables);
}

}  // namespace

Result<std::vector<double>> solve_throughput(const Reduced& reduced) {
  const PackingLp lp = build_lp(reduced);
  const Result<std::vector<double>> filled = maximise(lp, pivot_limit(lp));
  if (!filled) return filled.error();
  std::vector<double> rates;
  size_t column = 0;
  for (const ReducedJob& job : reduced.jobs) {
    double rate = job.floor;
    for (const Piece& piece : job.pieces) {
      const double fill = (*filled)[column++];
      // A full piece ends exactly at its end_rate, without the sum's rounding.
      const bool ends = fill == 1 && rate == piece.start_rate;
      rate = ends ? piece.end_rate
                  : rate + fill * (piece.end_rate - piece.start_rate);
    }
    rates.push_back(rate);
  }
  return rates;
}

}  // namespace penstock::allocator
