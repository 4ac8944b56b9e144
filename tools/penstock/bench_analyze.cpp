#include "tools/penstock/bench_analyze.h"

#include <fmt/ranges.h>

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_analyze(const BenchAnalyzeArguments& arguments,
                         const std::string& json_file, Terminal& terminal) {
  return run_bench_script(
      {"analyze",
       "bench_analyze",
       {"--jobs", fmt::format("{}", fmt::join(arguments.jobs, ",")), "--rounds",
        std::to_string(arguments.rounds), "--budget",
        std::to_string(arguments.budget_s)}},
      json_file, terminal);
}

}  // namespace penstock
