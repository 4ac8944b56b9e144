// penstock-optimum: reads an allocation problem as JSON on standard input and
// prints Clp's optimum. tools/demo compares with it, because it shares no
// solver with Penstock. Built only if Clp is installed; never installed itself.
#include <Clp_C_Interface.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "bench/optimum/clp_model.h"
#include "bench/optimum/problem_json.h"

namespace {

int fail(const penstock::Error& error) {
  std::fprintf(stderr, "penstock-optimum: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1) {
    std::fprintf(stderr,
                 "usage: %s < PROBLEM.json\n"
                 "The fields are those of select_ext/allocator/problem.h.\n",
                 argv[0]);
    return 2;
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto problem = penstock::optimum::parse_problem(text);
  if (!problem) return fail(problem.error());
  const auto optimum = penstock::optimum::throughput_optimum(*problem);
  if (!optimum) return fail(optimum.error());
  const std::string solver = std::string("Clp ") + Clp_Version();
  std::printf("%s\n", penstock::optimum::to_json(*optimum, solver).c_str());
  return 0;
}
