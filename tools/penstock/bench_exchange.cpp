#include "tools/penstock/bench_exchange.h"

#include "tools/penstock/bench_script.h"

namespace penstock {

Status run_bench_exchange(const BenchExchangeArguments& arguments,
                          const std::string& json_file, Terminal& terminal) {
  std::string parts;
  for (const std::string& part : arguments.parts) {
    parts += (parts.empty() ? "" : ",") + part;
  }
  BenchScript script{
      "exchange",
      "bench_exchange",
      {"--rounds", std::to_string(arguments.rounds), "--parts", parts}};
  if (arguments.calibrates) {
    const std::string& given = arguments.costs_dir;
    script.arguments.insert(
        script.arguments.end(),
        {"--calibrate", given.empty() ? "exchange-costs" : given});
  }
  return run_bench_script(script, json_file, terminal);
}

}  // namespace penstock
