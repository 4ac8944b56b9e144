#include "bench/exchange/ranks_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>

#include "exchange/plan/costs_file.h"

namespace penstock::exchange {
namespace {

const char* const kDescription =
    "Exchanges gradients over the ranks of an MPI program; rank 0 prints lines "
    "of JSON.";

// CLI11 reports errors by exceptions.
Status parse(CLI::App& app, int argc, const char* const* argv, bool& is_help) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help, std::cout, std::cerr);
    is_help = true;
  } catch (const CLI::Error& error) {
    return invalid(error.what());
  }
  return Done{};
}

Result<ExchangeCosts> read_costs(const std::string& path) {
  std::ifstream file(path);
  if (!file) return system_error(errno, path);
  std::ostringstream text;
  text << file.rdbuf();
  Result<ExchangeCosts> costs = parse_costs(text.str());
  if (!costs) return std::move(costs).error().wrap(path);
  return costs;
}

}  // namespace

Result<std::optional<RanksOptions>> parse_ranks_options(
    int argc, const char* const* argv) {
  RanksOptions options;
  std::string costs_file;
  CLI::App app(kDescription);
  app.require_subcommand(1);
  CLI::App* calibrate = app.add_subcommand(
      "calibrate", "Fit what messages, bytes, sums and selections cost here");
  CLI::App* compare = app.add_subcommand(
      "compare", "Dense, sparse and automatically chosen exchanges by turns");
  CLI::App* step = app.add_subcommand(
      "step", "Training steps of an emulated accelerator, the way chosen");
  for (CLI::App* command : {calibrate, compare, step}) {
    command->add_option("--elements", options.elements, "Of a layer")
        ->check(CLI::Range(size_t{1} << 10, size_t{1} << 30))
        ->capture_default_str();
    command->add_option("--densities", options.densities, "Seed of the data")
        ->delimiter(',')
        ->check(CLI::Range(1e-6, 1.0))
        ->capture_default_str();
  }
  for (CLI::App* command : {compare, step}) {
    command->add_option("--rounds", options.rounds, "Of each density")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--costs", costs_file, "File that calibrate printed")
        ->required();
  }
  step->add_option("--layers", options.layers, "Of a model")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  step->add_option("--compute-s", options.compute_s, "Of a step, emulated")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  bool is_help = false;
  if (Status parsed = parse(app, argc, argv, is_help); !parsed) {
    return std::move(parsed).error();
  }
  if (is_help) return std::optional<RanksOptions>();
  options.command = app.got_subcommand(calibrate) ? RanksCommand::kCalibrate
                    : app.got_subcommand(compare) ? RanksCommand::kCompare
                                                  : RanksCommand::kStep;
  if (options.command != RanksCommand::kCalibrate) {
    const Result<ExchangeCosts> costs = read_costs(costs_file);
    if (!costs) return costs.error();
    options.costs = *costs;
  }
  return std::optional(std::move(options));
}

}  // namespace penstock::exchange
