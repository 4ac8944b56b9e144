#include "tools/penstock/bench_lmdb.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_lmdb(const BenchLmdbArguments& arguments,
                      const std::string& json_file, Terminal& terminal) {
  BenchScript script{
      "lmdb", "bench_lmdb", {"--rounds", std::to_string(arguments.rounds)}};
  if (!arguments.database.empty()) {
    script.arguments.insert(script.arguments.end(),
                            {"--database", arguments.database});
  }
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
