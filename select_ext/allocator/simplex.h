// A small linear program: packing columns into a few resources of size 1.
// Primal simplex with bounded variables; docs/model.md, section "Throughput".
// Internal to the allocator.
#pragma once

#include <array>
#include <vector>

#include "common/result.h"

namespace penstock::allocator {

//   max  sum gain_j u_j
//   for every row i:  sum a_ij u_j <= 1,   0 <= u_j <= 1,   a_ij >= 0
// A column has at most three nonzero rows; several entries of one row add up.
struct PackingLp {
  struct Column {
    double gain = 0;  // > 0
    std::array<int, 3> rows = {};
    std::array<double, 3> use = {};
  };
  int rows = 0;
  std::vector<Column> columns;
};

// Returns an optimal vertex: one value in [0,1] per column.
// Errors: kLimit  not optimal after max_pivots pivots, or a basis so close to
//                 singular that it cannot be inverted
// Pure; deterministic; thread-safe. O(columns + rows^3) per pivot.
[[nodiscard]] Result<std::vector<double>> maximise(const PackingLp& lp,
                                                   int max_pivots);

}  // namespace penstock::allocator
