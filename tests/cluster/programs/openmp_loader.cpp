// A job whose loader is an OpenMP team, as a C++ training program may have it:
// the team prepares a batch, then the main thread, which is one of the team,
// trains on it.
//
//   openmp_loader --labels DIR --log FILE --prepare S --train S --workers N
//
// N: threads of the team. S: CPU seconds, of a sample and of a batch of 8. An
// empty file in DIR, named by its tid, says of each thread beside the main one
// that it is a loader.
#include <omp.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

double clock_s(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void compute(double seconds) {
  const double end_s = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end_s) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBatch = 8;
  constexpr double kSetUp_s = 2;  // as long as a program may have no team
  std::string labels, log_file;
  double prepare_s = 0, train_s = 0;
  int threads = 0;
  CLI::App app{"A job whose loader is an OpenMP team"};
  app.add_option("--labels", labels)->required();
  app.add_option("--log", log_file)->required();
  app.add_option("--prepare", prepare_s)->required();
  app.add_option("--train", train_s)->required();
  app.add_option("--workers", threads)->required();
  CLI11_PARSE(app, argc, argv);

  compute(kSetUp_s);
  omp_set_num_threads(threads);
#pragma omp parallel
  if (omp_get_thread_num() > 0) {
    std::ofstream(labels + "/" + std::to_string(::gettid()));
  }
  std::FILE* log = std::fopen(log_file.c_str(), "w");
  if (log == nullptr) return 1;
  for (long samples = kBatch;; samples += kBatch) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < kBatch; ++i) compute(prepare_s);
    compute(train_s);
    std::fprintf(log, "{\"t_monotonic\": %.6f, \"samples\": %ld}\n",
                 clock_s(CLOCK_MONOTONIC), samples);
    std::fflush(log);
  }
}
