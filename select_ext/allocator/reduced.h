// The problem that remains after every floor is granted: what each job can
// still gain, piece by piece, in shares of the free capacity. Internal to the
// allocator; docs/model.md, section "Reduction".
#pragma once

#include <array>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::allocator {

// Rows: one per resource.
constexpr int kCoresRow = 0;
constexpr int kIngestRow = 1;
constexpr int kFirstPoolRow = 2;

// A job uses at most three resources: the cores, the ingest and one pool.
using JobRows = std::array<int, 3>;
using JobUse = std::array<double, 3>;

// A range of rates over which the job's cost is linear.
struct Piece {
  double start_rate = 0;
  double end_rate = 0;
  // Indexed like JobRows: share of the resource's free capacity per unit of
  // rate; 0 where the job does not use the resource.
  JobUse use_per_rate = {};
};

struct ReducedJob {
  double weight = 1;
  double floor = 0;
  double ceiling = 0;
  JobRows rows = {kCoresRow, kIngestRow, kIngestRow};
  // Ascending and adjoining, from the floor to the highest rate that the job
  // could have alone on the node. Empty if it cannot gain.
  std::vector<Piece> pieces;

  double cap() const { return pieces.empty() ? floor : pieces.back().end_rate; }
};

struct Reduced {
  std::vector<ReducedJob> jobs;  // in the order of Problem::jobs
  // True if all jobs at their caps would exceed the free capacity. Only such a
  // row enters the solution.
  std::vector<bool> can_bind;
};

// Errors: kInfeasible  the floors do not fit: names the resource
// REQUIRES: validate(problem).
[[nodiscard]] Result<Reduced> reduce(const Problem& problem);

// Each returns one rate per job, in the order of Reduced::jobs.
[[nodiscard]] Result<std::vector<double>> solve_throughput(const Reduced&);
std::vector<double> solve_fair(const Reduced&);
std::vector<double> solve_max_min(const Reduced&);

}  // namespace penstock::allocator
