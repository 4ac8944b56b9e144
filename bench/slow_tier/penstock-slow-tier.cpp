// penstock-slow-tier: serves a folder as a slow file system.
// penstock-slow-tier(1).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "bench/slow_tier/session.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

struct SlowTierTexts {
  std::string latency = "2ms";
  std::string bandwidth = "100MB/s";
};

void add_options(CLI::App& app, SlowTierOptions& options,
                 SlowTierTexts& texts) {
  app.add_option("--latency", texts.latency, "Of each request")
      ->option_text("TIME [2ms]");
  app.add_option("--bandwidth", texts.bandwidth, "Of all files' data together")
      ->option_text("RATE [100MB/s]");
  app.add_flag("--foreground", options.foreground,
               "Do not go into the background");
  app.add_option("SOURCE", options.source, "The folder")->required();
  app.add_option("MOUNTPOINT", options.mountpoint, "Where it is shown")
      ->required();
}

int complain(int code, const Error& error) {
  std::fprintf(stderr, "penstock-slow-tier: %s\n", error.message.c_str());
  return code;
}

int run(int argc, char** argv) {
  SlowTierOptions options;
  SlowTierTexts texts;
  CLI::App app("Shows a folder as a slow, read-only file system",
               "penstock-slow-tier");
  add_options(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const auto latency_ns = parse_duration_ns(texts.latency);
  if (!latency_ns) {
    return complain(kExitUsage, Error(latency_ns.error()).wrap("--latency"));
  }
  const auto bandwidth = parse_rate_bytes_per_s(texts.bandwidth);
  if (!bandwidth) {
    return complain(kExitUsage, Error(bandwidth.error()).wrap("--bandwidth"));
  }
  options.latency_ns = *latency_ns;
  options.bandwidth_bytes_per_s = *bandwidth;
  const Status done = run_slow_tier(options);
  return done ? 0 : complain(kExitFailure, done.error());
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-slow-tier: %s\n", error.what());
    return 1;
  }
}
