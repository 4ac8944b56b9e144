// The two parts of `penstock bench allocator`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/bench_figures.h"

namespace penstock {

// One node with 2 to 64 jobs.
// Errors: allocator::solve's
[[nodiscard]] Result<std::vector<BenchFigure>> node_figures();

// Clusters of up to 10,000 nodes with 40,000 jobs. progress: called with the
// name of the next part.
// Errors: ClusterSolver::add's
[[nodiscard]] Result<std::vector<BenchFigure>> cluster_figures(
    const std::function<void(const std::string&)>& progress);

}  // namespace penstock
