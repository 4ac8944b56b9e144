// The allocation problem as a linear program for Clp: the oracle of the
// allocator's tests and of the demo's optimum. It shares neither code nor
// formulation with the allocator: a job's cores are a variable above the lines
// of its cost curve, not a chain of pieces.
#pragma once

#include <memory>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::optimum {

class ClpModel {
 public:
  // REQUIRES: allocator::validate(problem).
  explicit ClpModel(const allocator::Problem& problem);

  // Bounds of the job with index `job`; initially [floor, ceiling].
  void set_rate_bounds(size_t job, double low, double high);

  // The rates that maximise the sum of gains[j] x rate_j. REQUIRES: one gain
  // per job.
  // Errors: kInfeasible  no rates within the bounds fit
  //         kLimit       Clp gave up; names its status
  [[nodiscard]] Result<std::vector<double>> maximise(
      const std::vector<double>& gains);

 private:
  struct Deleter {
    void operator()(void* model) const;
  };
  // Units of a job's columns: about the highest values that it can reach.
  struct Units {
    double rate = 1;
    double cores = 1;
  };
  struct Row {
    double low = 0;
    double high = 0;
    std::vector<int> columns;
    std::vector<double> values;
  };

  static Units units_of(const allocator::Problem& problem,
                        const allocator::Job& job);
  int rate_column(size_t job) const { return static_cast<int>(2 * job); }
  int cores_column(size_t job) const { return static_cast<int>(2 * job + 1); }
  void bound_columns(const allocator::Problem& problem);
  void add_cost_lines(size_t job, const allocator::Job& data);
  void add_capacities(const allocator::Problem& problem);
  void add_row(const Row& row);

  std::unique_ptr<void, Deleter> model_;
  std::vector<Units> units_;  // one per job
};

// Clp's optimum of max sum weight x rate / ceiling.
// Errors: kInvalidArgument  as allocator::validate; others as maximise
[[nodiscard]] Result<allocator::Allocation> throughput_optimum(
    const allocator::Problem& problem);

}  // namespace penstock::optimum
