#include "tools/penstock/bench_memory.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_memory(const BenchMemoryArguments& arguments,
                        const std::string& json_file, Terminal& terminal) {
  const BenchScript script{
      "memory", "bench_memory", {"--rounds", std::to_string(arguments.rounds)}};
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
