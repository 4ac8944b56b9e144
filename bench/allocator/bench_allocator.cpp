#include "bench/allocator/bench_allocator.h"

#include <ostream>

#include "tools/penstock/command.h"

namespace penstock {

Status run_bench_allocator(const std::string& json_file, Terminal& terminal) {
  const auto progress = [&](const std::string& next) {
    if (terminal.interactive) terminal.out << next << "..." << std::endl;
  };
  progress("one node");
  Result<std::vector<BenchFigure>> figures = node_figures();
  if (!figures) return std::move(figures).error();
  Result<std::vector<BenchFigure>> cluster = cluster_figures(progress);
  if (!cluster) return std::move(cluster).error();
  figures->insert(figures->end(), cluster->begin(), cluster->end());
  return publish_figures("allocator", *figures, json_file, terminal);
}

}  // namespace penstock
