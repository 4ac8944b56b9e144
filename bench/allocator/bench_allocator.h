// `penstock bench allocator`, and its two parts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "common/result.h"

namespace penstock {

// One node with 2 to 64 jobs.
// Errors: allocator::solve's
[[nodiscard]] Result<std::vector<BenchFigure>> node_figures();

// Clusters of up to 10,000 nodes with 40,000 jobs. progress: called with the
// name of the next part.
// Errors: ClusterSolver::add's
[[nodiscard]] Result<std::vector<BenchFigure>> cluster_figures(
    const std::function<void(const std::string&)>& progress);

// json_file: "" for none. Errors: those of the parts, and write_text()'s
[[nodiscard]] Status run_bench_allocator(const std::string& json_file,
                                         Terminal& terminal);

}  // namespace penstock
