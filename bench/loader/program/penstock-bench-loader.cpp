// The part of `penstock bench loader` that runs Penstock's loader:
//   penstock-bench-loader load FOLDER THREADS WARM_S MEASURED_S
//   penstock-bench-loader crops < LINES > FLOATS
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/loader/program/crops.h"
#include "bench/loader/program/loader_loop.h"
#include "common/units.h"

namespace penstock {
namespace {

Status run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"crops"})
    return write_crops(stdin, stdout);
  if (words.size() != 5 || words[0] != "load")
    return invalid("load FOLDER THREADS WARM_S MEASURED_S, or crops");
  const auto threads = parse_uint(words[2], 1, 1024);
  if (!threads) return threads.error();
  const auto warm_s = parse_number(words[3], 0, 3600);
  if (!warm_s) return warm_s.error();
  const auto measured_s = parse_number(words[4], 0, 3600);
  if (!measured_s) return measured_s.error();
  return run_loader_loop(words[1], *threads, {*warm_s, *measured_s});
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    const penstock::Status done = penstock::run({argv + 1, argv + argc});
    if (done) return 0;
    std::fprintf(stderr, "penstock-bench-loader: %s\n",
                 done.error().message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-bench-loader: %s\n", error.what());
  }
  return 1;
}
