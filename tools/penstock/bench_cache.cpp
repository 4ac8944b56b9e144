#include "tools/penstock/bench_cache.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_cache(const BenchCacheArguments& arguments,
                       const std::string& json_file, Terminal& terminal) {
  const BenchScript script{
      "cache", "bench_cache", {"--rounds", std::to_string(arguments.rounds)}};
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
