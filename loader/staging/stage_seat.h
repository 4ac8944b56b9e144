// A job's place in its share: its next batch, and its waits for other jobs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/staging/stage_claims.h"
#include "loader/staging/stage_jobs.h"

namespace penstock {

// Time limits of a job that waits for a batch. alone_ns should exceed claim_ns
// and patience_ns.
struct StageTimes {
  // A claim without a finished sample for this long is taken over: its owner
  // may be suspended.
  uint64_t claim_ns = 30'000'000'000;
  // A job that blocks others for this long, though its own batch is ready, is
  // expelled.
  uint64_t patience_ns = 60'000'000'000;
  // If both limits do not help and nothing changes for this long, the waiting
  // job goes on alone.
  uint64_t alone_ns = 120'000'000'000;
  // The share's first batch waits at most this long for SharedOptions::jobs.
  uint64_t gather_ns = 60'000'000'000;
};

// For one thread at a time, except is_in(). `file` and `overdue` must outlive
// it.
class StageSeat {
 public:
  enum class Take {
    kGot,
    kNotYet,  // not ready; header().ready notifies of changes
    kOut,     // the job is out: others do not wait for it
  };

  StageSeat(const StageFile& file, OverdueClaims& overdue,
            const StageTimes& times);

  // Reserves a place; the job is still out.
  // Errors: kLimit  the share has kStageConsumers jobs
  [[nodiscard]] Status reserve();
  // Makes the job active at the first epoch without a claimed batch, `epoch` or
  // later, and returns that epoch. Other jobs may expel it before the return.
  // REQUIRES: reserve() succeeded, and the job is out.
  uint64_t enter(uint64_t epoch);
  // Sets the first batch that the job does not want.
  void set_end(uint64_t batch);

  // Sets `buffer` to that of the job's next batch. Its contents stay unchanged
  // until release(), even if the job is expelled meanwhile.
  [[nodiscard]] Take take(uint32_t& buffer);
  // Releases the taken batch. False: the job is out.
  // REQUIRES: take() returned kGot.
  bool release();
  // Other jobs no longer wait for this one. A taken batch stays unchanged.
  void go_out();
  // The taken batch, or the one that take() will give next.
  uint64_t next() const { return next_; }

  // For a job that waits for its batch. Frees places of jobs that have ended,
  // marks overdue claims, and expels jobs that block this one. If nothing
  // changes for alone_ns, takes this job out.
  void look_around(uint64_t now_ns);
  // Gives the place back. A taken batch becomes invalid.
  void leave();

  bool is_in() const;  // thread-safe once reserve() has succeeded
  bool has_place() const { return place_ < kStageConsumers; }

 private:
  StageConsumer& own() const { return file_.consumer(place_); }
  uint64_t word(ConsumerWord::State state, uint64_t next) const;
  bool is_in_our_way(uint32_t i, uint64_t found) const;
  void look_at_claims(uint64_t now_ns);
  uint64_t look_at_job(uint32_t i, uint64_t now_ns);
  void put_out(uint32_t i, uint64_t found);

  const StageFile& file_;
  OverdueClaims& overdue_;
  const StageTimes times_;
  const StageJobs jobs_;
  uint32_t place_ = kStageConsumers;
  uint64_t next_ = 0;
  std::vector<Stillness> claims_;                  // by slot
  std::array<Stillness, kStageConsumers> others_;  // by place
  Stillness everything_;
};

}  // namespace penstock
