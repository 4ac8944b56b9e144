// A simulator of a share: the real code of the protocol, with several jobs in
// one process. A thread continues to its next fault point only when the
// schedule selects it. The seed determines the schedule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "loader/staging/stage_claims.h"
#include "loader/staging/stage_seat.h"
#include "tests/unit/loader_staging/fibers.h"
#include "tests/unit/loader_staging/stage_case.h"

namespace penstock::test {

struct SimOptions {
  uint64_t seed = 0;
  int jobs = 3;
  int threads = 1;      // preparing threads of each job
  int deaths = 1;       // fewer than jobs
  int late_jobs = 1;    // jobs that start later, included in `jobs`
  uint64_t epochs = 3;  // for each job
  StageShape shape{3, 4096, 2, 4};
  StageTimes times{200, 400, 4000};  // steps
  uint64_t most_steps = 400'000;
};

struct SimResult {
  std::string wrong;  // "": nothing
  uint64_t steps = 0;
  uint64_t taken_over = 0;
  uint64_t put_out = 0;
  uint64_t alone_epochs = 0;
  uint64_t lost_claims = 0;
  uint64_t left_claims = 0;
};

class StageSim {
 public:
  StageSim(StageCase& folder, const SimOptions& options);
  SimResult run();

 private:
  struct Job {
    std::unique_ptr<StageFile> file;
    std::unique_ptr<OverdueClaims> overdue;
    std::unique_ptr<StageClaims> claims;
    std::unique_ptr<StageSeat> seat;
    bool is_started = false;
    bool is_dead = false;
    bool has_finished = false;
    bool has_entered = false;
    uint64_t begins = 0;  // step
    uint64_t dies = 0;    // step; 0: never
  };
  struct Thread {
    size_t job;
    std::unique_ptr<Fiber> fiber;
    uint64_t stopped_until = 0;
  };

  void start(size_t job);
  void consume(Job& job);
  uint64_t enter(Job& job, uint64_t epoch);
  // False: the job is excluded from the epoch that it was to begin.
  bool consume_epoch(Job& job, uint64_t epoch, bool& is_alone);
  bool consume_batch(Job& job, uint64_t batch, bool& has_waited);
  void prepare(Job& job);
  void check_batch(Job& job, uint32_t buffer, uint64_t batch,
                   uint64_t& written);
  void check_jobs();
  void check_slots();
  void check_end();
  void pause(bool waits);
  void complain(const std::string& what);
  void step();
  bool is_over() const;
  size_t choose();
  uint64_t below(uint64_t bound) { return random_() % bound; }

  const SimOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<StageFile> observer_;
  std::array<uint64_t, kMostWindow> words_{};  // of slots, a step before
  std::vector<Job> jobs_;
  std::vector<Thread> threads_;
  uint64_t claims_ = 0;
  size_t running_ = 0;  // thread
  bool waits_ = false;  // the one that ran last, for others
  bool is_sticky_ = false;
  uint64_t stops_ = 0;  // a thread, once in so many choices
  SimResult result_;
};

}  // namespace penstock::test
