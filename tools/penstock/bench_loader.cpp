#include "tools/penstock/bench_loader.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_loader(const BenchLoaderArguments& arguments,
                        const std::string& json_file, Terminal& terminal) {
  BenchScript script{
      "loader", "bench_loader", {"--rounds", std::to_string(arguments.rounds)}};
  if (!arguments.peers_dir.empty()) {
    script.arguments.insert(script.arguments.end(),
                            {"--peers", arguments.peers_dir});
  }
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
