// Random allocation problems for property tests, and the rules that every
// answer must satisfy, computed without the allocator's code.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "select_ext/allocator/problem.h"

namespace penstock::allocator::testing {

// PENSTOCK_TEST_SEED if it is set, else a new seed; printed with the test's
// name, so that a failure can be repeated.
uint64_t test_seed(const char* test);

class RandomProblems {
 public:
  explicit RandomProblems(uint64_t seed) : random_(seed) {}

  // A feasible problem. Half of them have numbers of all scales, half small
  // whole numbers, for which ties and degenerate corners are common.
  Problem next();

  // In [low, high).
  double real(double low, double high);
  // In [low, high].
  int whole(int low, int high);
  bool chance(double probability) { return real(0, 1) < probability; }

 private:
  Job next_job(bool is_whole, int pools);
  void set_capacities(Problem& problem, bool is_whole);
  void set_floors(Problem& problem);

  std::mt19937_64 random_;
};

// Cores of a rate: the highest of the lines through the curve's pieces.
double cores_needed(const Job& job, double rate);

// "" if the grants fit every capacity, floor, ceiling and max_cores and match
// their rates; else the broken rule.
std::string broken_rule(const Problem& problem, const Allocation& allocation);

// The problem as text for a failure message.
std::string describe(const Problem& problem);

}  // namespace penstock::allocator::testing
