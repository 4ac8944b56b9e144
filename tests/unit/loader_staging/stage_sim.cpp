#include "tests/unit/loader_staging/stage_sim.h"

#include <algorithm>

#include "loader/cache/fault_point.h"

// The test build of the library calls this at its fault points.
void penstock::fault_point(const char* /*name*/) { test::Fiber::pause(); }

namespace penstock::test {
namespace {

constexpr size_t kWords = 5;  // per batch, written and read one at a time
// A word holds its batch and, above these bits, the claim that wrote it.
// Without the claim, two writers of one batch would go undetected.
constexpr uint64_t kBatchBits = 24;

volatile uint64_t* words_of(const StageFile& file, uint32_t buffer) {
  return reinterpret_cast<uint64_t*>(file.buffer(buffer));
}

}  // namespace

StageSim::StageSim(StageCase& folder, const SimOptions& options)
    : options_(options), random_(options.seed), jobs_(size_t(options.jobs)) {
  observer_ = folder.join(options.shape);
  is_sticky_ = below(2) == 0;
  stops_ = below(2) == 0 ? 30 : 300;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    job.file = folder.join(options.shape);
    job.overdue = std::make_unique<OverdueClaims>(options.shape.window);
    job.claims = std::make_unique<StageClaims>(*job.file, *job.overdue);
    job.seat =
        std::make_unique<StageSeat>(*job.file, *job.overdue, options.times);
    if (int(i) < options.late_jobs) job.begins = 1 + below(1500);
    if (int(jobs_.size() - 1 - i) < options.deaths) job.dies = 1 + below(2000);
  }
}

void StageSim::complain(const std::string& what) {
  if (result_.wrong.empty()) result_.wrong = what;
}

void StageSim::pause(bool waits) {
  waits_ = waits;
  Fiber::pause();
}

// written: the word seen at the first check, or 0.
void StageSim::check_batch(Job& job, uint32_t buffer, uint64_t batch,
                           uint64_t& written) {
  if (buffer >= options_.shape.buffers) complain("a buffer that is none");
  const volatile uint64_t* const words = words_of(*job.file, buffer);
  if (written == 0) written = words[0];
  for (size_t i = 0; i < kWords; ++i) {
    if (words[i] != written || words[i] % (1 << kBatchBits) != batch) {
      complain("batch " + std::to_string(batch) + " is torn");
    }
  }
}

// False: the job is excluded and did not get the batch.
bool StageSim::consume_batch(Job& job, uint64_t batch, bool& has_waited) {
  for (;;) {
    uint32_t buffer = 0;
    uint64_t written = 0;
    switch (job.seat->take(buffer)) {
      case StageSeat::Take::kGot:
        if (job.seat->next() != batch) complain("not the batch it is at");
        for (uint64_t reads = 1 + below(8); reads > 0; --reads) {
          check_batch(job, buffer, batch, written);
          pause(false);
        }
        check_batch(job, buffer, batch, written);
        (void)job.seat->release();
        return true;
      case StageSeat::Take::kOut:
        return false;
      case StageSeat::Take::kNotYet:
        has_waited = true;
        job.seat->look_around(result_.steps);
        pause(true);
    }
  }
}

// Like SharedCore; batches prepared alone take no step.
bool StageSim::consume_epoch(Job& job, uint64_t epoch, bool& is_alone) {
  const uint64_t batches = options_.shape.batches_per_epoch;
  for (uint64_t i = 0; i < batches; ++i) {
    bool has_waited = false;
    if (consume_batch(job, epoch * batches + i, has_waited)) continue;
    if (i == 0 && !has_waited) return false;
    ++result_.alone_epochs;
    is_alone = true;
    return true;
  }
  return true;
}

uint64_t StageSim::enter(Job& job, uint64_t epoch) {
  job.has_entered = false;
  epoch = job.seat->enter(epoch);
  job.has_entered = true;
  return epoch;
}

// A slot's batches only advance, and a ready one does not change.
void StageSim::check_slots() {
  for (uint32_t i = 0; i < options_.shape.window; ++i) {
    const uint64_t now = observer_->slot(i).word;
    const StageWord before = StageWord::of(words_[i]);
    if (StageWord::of(now).lap < before.lap ||
        (before.state == StageWord::State::kReady && now != words_[i] &&
         StageWord::of(now).lap == before.lap)) {
      complain("a batch is taken back");
    }
    words_[i] = now;
  }
}

// No entered job has lost its next batch.
void StageSim::check_jobs() {
  const uint32_t window = options_.shape.window;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    const ConsumerWord word = ConsumerWord::of(observer_->consumer(i).word);
    if (word.state != ConsumerWord::State::kActive) continue;
    const bool has_entered =
        std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
          return job.has_entered && job.file->member() == word.member &&
                 job.file->generation() == word.generation;
        });
    const auto slot = static_cast<uint32_t>(word.next % window);
    const StageWord found = StageWord::of(observer_->slot(slot).word);
    if (has_entered && found.state != StageWord::State::kUnused &&
        found.lap > word.next / window) {
      complain("batch " + std::to_string(word.next) +
               " is gone before a job had it");
    }
  }
}

void StageSim::consume(Job& job) {
  if (!job.seat->reserve()) return complain("no place");
  uint64_t epoch = enter(job, 0);
  for (uint64_t done = 0; done < options_.epochs;) {
    job.seat->set_end((epoch + options_.epochs - done) *
                      options_.shape.batches_per_epoch);
    bool is_alone = false;
    if (!consume_epoch(job, epoch, is_alone)) {
      epoch = enter(job, epoch);
      continue;
    }
    ++done;
    ++epoch;
    if (is_alone && done < options_.epochs) epoch = enter(job, epoch);
  }
  job.seat->leave();
  job.has_finished = true;
}

void StageSim::prepare(Job& job) {
  while (!job.has_finished) {
    pause(true);
    if (!job.seat->has_place() || !job.seat->is_in()) continue;
    const auto claim = job.claims->claim(below(2) == 0);
    if (!claim) continue;
    const uint64_t written = ++claims_ << kBatchBits | claim->batch;
    const size_t words = below(16) == 0 ? below(kWords) : kWords;
    for (size_t i = 0; i < words; ++i) {
      words_of(*job.file, claim->buffer)[i] = written;
      pause(false);
    }
    if (words < kWords) {
      job.claims->leave(*claim);
      ++result_.left_claims;
    } else if (!job.claims->publish(*claim)) {
      ++result_.lost_claims;
    }
  }
}

void StageSim::start(size_t index) {
  Job& job = jobs_[index];
  job.is_started = true;
  threads_.push_back(
      {index, std::make_unique<Fiber>([this, &job] { consume(job); })});
  for (int i = 0; i < options_.threads; ++i) {
    threads_.push_back(
        {index, std::make_unique<Fiber>([this, &job] { prepare(job); })});
  }
}

bool StageSim::is_over() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) {
    return job.is_dead || job.has_finished;
  });
}

// Often the same thread continues; sometimes one is stopped for a while.
size_t StageSim::choose() {
  if (is_sticky_ && !waits_ && running_ < threads_.size() && below(8) != 0 &&
      threads_[running_].stopped_until <= result_.steps) {
    return running_;
  }
  const size_t chosen = below(threads_.size());
  if (below(stops_) == 0) {
    threads_[chosen].stopped_until = result_.steps + below(2000);
  }
  return chosen;
}

void StageSim::step() {
  ++result_.steps;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (!job.is_started && job.begins <= result_.steps) start(i);
    if (job.dies == 0 || job.dies > result_.steps || job.is_dead ||
        job.has_finished) {
      continue;
    }
    job.is_dead = true;  // its threads never run again
    job.file->leave();
  }
  if (threads_.empty()) return;
  running_ = choose();
  Thread& thread = threads_[running_];
  waits_ = true;
  if (jobs_[thread.job].is_dead || thread.fiber->has_ended() ||
      thread.stopped_until > result_.steps) {
    return;
  }
  waits_ = false;
  thread.fiber->resume();
  check_jobs();
  check_slots();
}

// Unused buffers and places can be used again.
void StageSim::check_end() {
  const StageJobs jobs(*observer_);
  (void)jobs.drop_ended();
  if (jobs.window().end != 0) complain("somebody is still in");
  for (uint32_t i = 0; i < options_.shape.buffers; ++i) {
    const BufferTag tag = BufferTag::of(observer_->tag(i));
    if (jobs.is_held(i)) complain("a buffer is still held");
    if (tag.is_written && !observer_->has_ended(tag.member, tag.generation)) {
      complain("a buffer is still written to");
    }
  }
}

SimResult StageSim::run() {
  while (!is_over() && result_.wrong.empty()) {
    if (result_.steps >= options_.most_steps) {
      complain("not over after " + std::to_string(result_.steps) + " steps");
    } else {
      step();
    }
  }
  // Threads that prepare finish their batch.
  for (Thread& thread : threads_) {
    while (result_.wrong.empty() && !jobs_[thread.job].is_dead &&
           !thread.fiber->has_ended()) {
      thread.fiber->resume();
    }
  }
  if (result_.wrong.empty()) check_end();
  result_.taken_over = observer_->header().taken_over;
  result_.put_out = observer_->header().put_out;
  for (Job& job : jobs_) job.file->leave();
  observer_->leave();
  return result_;
}

}  // namespace penstock::test
