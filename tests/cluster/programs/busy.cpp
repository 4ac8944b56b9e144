// A job of workers that compute and pause by turns, and how much they got
// done: the lender (and, with processes, the loader) of the floor tests.
//
//   busy --workers N [--processes] --on MS --off MS --log FILE --seconds S
//
// Each worker computes for MS of CPU time, then sleeps. --off 0 computes
// without a pause. Processes carry the name of PyTorch's workers, so that
// penstockd takes them for loaders. The log has a JSON line every 0.25 s:
// {"t_monotonic", "samples"}; a sample is about 20 us of work.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int workers = 1;
  bool processes = false;
  double on_ms = 1;
  double off_ms = 1;
  double seconds = 60;
  std::string log;
};

// In memory that forked workers share.
struct Shared {
  std::atomic<uint64_t> samples{0};
  std::atomic<bool> stop{false};
};

void compute_one_sample() {
  volatile double x = 1;
  for (int i = 0; i < 4000; ++i) x = x * 1.0000001 + 1e-9;
}

double own_cpu_ms() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 +
         static_cast<double>(used.tv_nsec) * 1e-6;
}

void work(const Settings& settings, Shared& shared) {
  const auto off = std::chrono::duration<double, std::milli>(settings.off_ms);
  while (!shared.stop) {
    // Of CPU time: how much gets done must not depend on who else computes.
    const double end_ms = own_cpu_ms() + settings.on_ms;
    uint64_t done = 0;
    while (own_cpu_ms() < end_ms && !shared.stop) {
      compute_one_sample();
      ++done;
    }
    shared.samples += done;
    if (settings.off_ms > 0) std::this_thread::sleep_for(off);
  }
}

void write_log(const Settings& settings, Shared& shared) {
  FILE* log = std::fopen(settings.log.c_str(), "w");
  if (log == nullptr) std::exit(1);
  const auto start = Clock::now();
  const std::chrono::duration<double> length(settings.seconds);
  while (Clock::now() - start < length) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    const double now =
        std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    std::fprintf(log, "{\"t_monotonic\": %.6f, \"samples\": %llu}\n", now,
                 static_cast<unsigned long long>(shared.samples));
    std::fflush(log);
  }
  shared.stop = true;
  std::fclose(log);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"computes and pauses by turns"};
  app.add_option("--workers", settings.workers);
  app.add_flag("--processes", settings.processes);
  app.add_option("--on", settings.on_ms);
  app.add_option("--off", settings.off_ms);
  app.add_option("--seconds", settings.seconds);
  app.add_option("--log", settings.log)->required();
  CLI11_PARSE(app, argc, argv);

  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared& shared = *new (memory) Shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < settings.workers; ++i) {
    if (!settings.processes) {
      threads.emplace_back([&] { work(settings, shared); });
    } else if (::fork() == 0) {
      ::prctl(PR_SET_NAME, "pt_data_worker");
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work(settings, shared);
      ::_exit(0);
    }
  }
  write_log(settings, shared);
  for (std::thread& thread : threads) thread.join();
  while (::wait(nullptr) > 0) {
  }
  return 0;
}
