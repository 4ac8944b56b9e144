#include "tools/penstock/bench_staging.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_staging(const BenchStagingArguments& arguments,
                         const std::string& json_file, Terminal& terminal) {
  const BenchScript script{"staging",
                           "bench_staging",
                           {"--rounds", std::to_string(arguments.rounds)}};
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
