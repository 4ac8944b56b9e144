#include "tests/model/trial.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace penstock::model {
namespace {

uint64_t seed_named(const std::string& name) {
  if (name != "fresh") return std::strtoull(name.c_str(), nullptr, 10);
  return std::random_device()();
}

}  // namespace

void Trial::fail(const std::string& text) const {
  fmt::print("FAILED: {}\nat seed {}, step {}; the last actions:\n", text,
             seed_, step_);
  for (const std::string& action : actions_) fmt::print("  {}\n", action);
  fmt::print("replay: {} --seed {} --steps {}\n", program_, seed_, steps_);
  std::fflush(stdout);
  std::_Exit(1);
}

int run_trials(int argc, char** argv, void (*run)(Trial&)) {
  std::vector<std::string> names = {"fresh"};
  uint64_t seeds = 1;
  uint64_t steps = 100'000;
  CLI::App app{"drives the product's state machines with random actions"};
  app.add_option("--seed", names, "first seed: a number, or `fresh`")
      ->capture_default_str();
  app.add_option("--seeds", seeds, "seeds in a row")->capture_default_str();
  app.add_option("--steps", steps, "steps of each seed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  uint64_t all = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& name : names) {
    const uint64_t first = seed_named(name);
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
      fmt::print("seed {}, {} steps\n", seed, steps);
      std::fflush(stdout);
      Trial trial(argv[0], seed, steps);
      run(trial);
      all += steps;
    }
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begun;
  fmt::print("{} steps in {:.1f} s\n", all, took.count());
  return 0;
}

}  // namespace penstock::model
