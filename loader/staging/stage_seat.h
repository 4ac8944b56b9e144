// A job's place among those that share: which batch it is at.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/staging/stage_claims.h"
#include "loader/staging/stage_jobs.h"

namespace penstock {

// How long a job that waits for a batch puts up with others. The last one is
// more than each of the rest.
struct StageTimes {
  // A claim of which no sample was done for longer is taken over; whoever has
  // it may be stopped.
  uint64_t claim_ns = 30'000'000'000;
  // A job whose batch is ready, and that holds up others, is put out.
  uint64_t patience_ns = 60'000'000'000;
  // A job for which nothing goes on in spite of both goes on alone.
  uint64_t alone_ns = 120'000'000'000;
  // The share's first batch waits so long for jobs that are to come.
  uint64_t gather_ns = 60'000'000'000;
};

// For one thread at a time, but for is_in(). What it is given must outlive it.
class StageSeat {
 public:
  enum class Take {
    kGot,
    kNotYet,  // header().ready says when it may be there
    kOut,     // the job is out: others go on without it
  };

  StageSeat(const StageFile& file, OverdueClaims& overdue,
            const StageTimes& times);

  // Gets a place, still out.
  // Errors: kLimit  as many jobs share as can
  [[nodiscard]] Status reserve();
  // Comes in at the first epoch, from `epoch` on, of which no batch was
  // claimed, and returns its number. The others may have put it out already
  // when it does. REQUIRES: reserve() succeeded, and it is out.
  uint64_t enter(uint64_t epoch);
  // The first batch that the job does not want.
  void set_end(uint64_t batch);

  // The buffer of the job's next batch, which stays what it is until release(),
  // whether the job is put out meanwhile or not.
  [[nodiscard]] Take take(uint32_t& buffer);
  // The batch that take() gave is done with. False: the job is out.
  // REQUIRES: take() gave kGot.
  bool release();
  // The others go on without this job; the batch that it has stays what it is.
  void go_out();
  // The batch that take() gives next, or would give.
  uint64_t next() const { return next_; }

  // For a job that waits for its batch: frees places of jobs that have ended,
  // marks claims that are overdue, puts out jobs that hold it up, and goes out
  // itself where nothing helps.
  void look_around(uint64_t now_ns);
  // Nobody waits for the job any more. REQUIRES: no batch is taken.
  void leave();

  bool is_in() const;  // any thread, once it has a place
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
