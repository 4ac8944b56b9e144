// What `penstock bench` runs; used from the build folder only, never installed.
#include <iostream>

#include "bench/bench_line.h"

int main(int argc, char** argv) {
  penstock::Terminal terminal = penstock::standard_terminal();
  return penstock::run_bench_line(argc, argv, terminal, std::cerr);
}
