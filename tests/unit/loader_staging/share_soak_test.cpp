// Eight processes share: three are killed, two start later, all are stopped now
// and then. Each epoch of each job has every sample once.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>

#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_staging/sharing.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kSamples = 23;
constexpr uint64_t kEpochs = 20;
constexpr int kJobs = 8;    // including the late ones
constexpr int kLate = 2;    // the first ones
constexpr int kKilled = 3;  // the last ones
constexpr uint64_t kMs = 1'000'000;

SharedOptions options_of(uint64_t seed) {
  SharedOptions options;
  options.name = "soak";
  options.batch_samples = 4;
  options.seed = seed;
  options.epochs = kEpochs;
  options.window_batches = 6;
  options.threads = options.threads_max = 2;
  options.jobs = kJobs - kLate;
  options.times = {150 * kMs, 200 * kMs, 2000 * kMs, 1000 * kMs};
  return options;
}

struct Soak {
  explicit Soak(uint64_t soak_seed)
      : seed(soak_seed),
        random(soak_seed),
        dataset(write_records(folder.path("records"), kSamples)) {}

  std::string written(int job) const {
    return folder.path("job" + std::to_string(job));
  }
  std::unique_ptr<Child> start(int job) {
    const unsigned job_seed = unsigned(random());
    return std::make_unique<Child>([this, job, job_seed](const auto& done) {
      std::mt19937 steps(job_seed);
      const std::string wrong = run_job(
          dataset, options_of(seed), written(job),
          [&] { ::usleep(useconds_t(steps() % 12000)); }, done);
      if (wrong.empty()) return;
      std::cerr << "job " << job << ": " << wrong << "\n";
      ::_exit(3);
    });
  }

  const uint64_t seed;
  std::mt19937_64 random;
  CacheCase cache;
  TempFolder folder;
  std::shared_ptr<const Dataset> dataset;
};

// Stops jobs for a while, kills some and starts others, at random moments of
// the first second or so.
void disturb(Soak& soak, std::vector<std::unique_ptr<Child>>& jobs) {
  constexpr int kMoments = 40;
  std::vector<int> started, killed;
  for (int i = 0; i < kLate; ++i)
    started.push_back(int(soak.random() % kMoments));
  for (int i = 0; i < kKilled; ++i)
    killed.push_back(int(soak.random() % kMoments));
  for (int moment = 0; moment < kMoments; ++moment) {
    ::usleep(useconds_t(soak.random() % 40000));
    for (int i = 0; i < kLate; ++i) {
      if (started[size_t(i)] == moment) jobs[size_t(i)] = soak.start(i);
    }
    for (int i = 0; i < kKilled; ++i) {
      const auto& job = jobs[size_t(kJobs - 1 - i)];
      if (killed[size_t(i)] == moment) ::kill(job->pid(), SIGKILL);
    }
    const auto& stopped = jobs[size_t(kLate) + soak.random() % (kJobs - kLate)];
    if (soak.random() % 2 == 0) continue;
    ::kill(stopped->pid(), SIGSTOP);
    ::usleep(
        useconds_t(soak.random() % 4 == 0 ? 400000 : soak.random() % 40000));
    ::kill(stopped->pid(), SIGCONT);
  }
}

void run_schedule(uint64_t seed) {
  Soak soak(seed);
  std::vector<std::unique_ptr<Child>> jobs(kJobs);
  for (int i = kLate; i < kJobs; ++i) jobs[size_t(i)] = soak.start(i);
  disturb(soak, jobs);
  for (int i = 0; i < kJobs; ++i) {
    CAPTURE(i);
    const int status = jobs[size_t(i)]->wait();
    const Epochs epochs = read_epochs(soak.written(i));
    CHECK(are_whole(epochs, kSamples));
    if (i < kJobs - kKilled) {
      CHECK(status == 0);
      CHECK(epochs.size() == kEpochs);
    } else {
      CHECK((status == 0 || status == 128 + SIGKILL));
    }
  }
}

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE(
    "each job gets each sample once an epoch, whatever happens to others") {
  const uint64_t first = number_from("PENSTOCK_TEST_SEED", 1);
  const uint64_t schedules = number_from("PENSTOCK_TEST_SCHEDULES", 4);
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    std::cout << "PENSTOCK_TEST_SEED=" << seed << std::endl;
    CAPTURE(seed);
    const auto begin = std::chrono::steady_clock::now();
    run_schedule(seed);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes(1));
  }
}
