// The loader: a dataset, an elastic pool of threads that prepare its samples,
// and a ring of batches for the trainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/result.h"
#include "loader/batch_ring.h"
#include "loader/elastic_pool.h"
#include "loader/feed.h"
#include "loader/token_bucket.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/epoch_order.h"

namespace penstock {

struct LoaderOptions {
  size_t batch_samples = 32;  // 1 to 65536
  int crop_side = 224;        // pixels, 1 to 4096
  uint64_t seed = 0;
  ReadMode read_mode = ReadMode::kBuffered;
  uint64_t total_samples = UINT64_MAX;  // positions of the stream, broken
                                        // samples included; epoch after epoch
  size_t ring_batches = 4;  // at least; more where the threads need it
  size_t threads = 1;       // at the start
  size_t threads_min = 1;   // of the elastic pool
  size_t threads_max = 1;
  bool elastic = false;  // follow the hint's number of threads
};

// What the loader follows; libpenstock's hint page fills it.
struct LoaderHint {
  size_t threads = 1;             // how many can run at once
  uint64_t rate_bytes_per_s = 0;  // what the loader has to keep itself; 0: none
};

// What the loader needs from outside. Every function may be empty.
struct LoaderLink {
  // Asked 20 times a second; nullopt: nothing to follow.
  std::function<std::optional<LoaderHint>()> hint;
  // Called in each loader thread when it starts (true) and ends (false).
  std::function<void(bool starts)> thread;
  // Called once for each broken sample, in any thread.
  std::function<void(const std::string& why)> broken;
};

struct LoaderCounters {
  uint64_t prepared = 0;  // good samples
  uint64_t broken = 0;    // samples skipped, each time they were
  uint64_t bytes = 0;
  uint64_t fetch_ns = 0;  // summed over threads
  uint64_t prep_ns = 0;
  uint64_t cpu_ns = 0;  // of the loader threads
  size_t threads = 0;   // now
};

// Memory: ring_batches x batch_samples x 3 x crop_side^2 floats, and per
// thread the largest file and its decoded picture.
//
// The stream is one epoch after the other, each a permutation of the dataset;
// a batch may span two epochs. Its bits depend on (dataset, seed) only, not on
// the number of threads. A broken sample is left out of its batch.
class Loader {
 public:
  // Starts the threads.
  // Errors: kInvalidArgument  an option out of its range, or a ring over 64 GB
  //         kLimit            no memory for the ring, or no thread started
  [[nodiscard]] static Result<std::unique_ptr<Loader>> create(
      std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
      LoaderLink link);
  // Stops the threads and waits for them.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, in order; for one thread. nullopt after timeout_ns
  // without one, and at the stream's end (finished()). Batches without a good
  // sample are passed over. A batch is valid until it
  // is released.
  // Errors: kIo  as many samples in a row as the dataset has were broken; the
  //              message names the last
  [[nodiscard]] Result<std::optional<Batch>> next(uint64_t timeout_ns);
  void release(const Batch& batch) { ring_.release(batch); }
  bool finished() const { return ring_.finished(); }

  // From a batch on, whose number it returns, the samples are those of feed;
  // batches before it are as they were. For the thread that calls next().
  uint64_t set_feed(const Feed& feed);

  // The samples of the subset that a feed of so many reads.
  std::vector<uint64_t> subset(uint64_t samples) const;

  LoaderCounters counters() const;  // thread-safe

 private:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
         LoaderLink link);

  void run_thread(size_t id, const ElasticPool::Wanted& wanted);
  void prepare_place(class SamplePreparer& preparer,
                     const BatchRing::Place& place);
  Feed feed_at(uint64_t position);
  void note_broken(uint64_t index, const std::string& why);
  void run_control();
  void follow_hint();

  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions options_;
  const LoaderLink link_;
  const EpochOrder order_;
  TokenBucket bucket_;
  BatchRing ring_;

  std::atomic<bool> has_feeds_{false};
  std::mutex feeds_mutex_;
  FeedPlan feeds_;

  std::atomic<uint64_t> prepared_{0};
  std::atomic<uint64_t> broken_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> fetch_ns_{0};
  std::atomic<uint64_t> prep_ns_{0};
  std::atomic<uint64_t> cpu_ns_{0};

  std::mutex broken_mutex_;  // taken for broken samples only
  std::set<uint64_t> named_;
  std::string last_broken_;
  uint64_t empty_samples_ = 0;  // broken in a row, as the trainer sees them

  std::atomic<bool> stopping_{false};
  std::atomic<bool> all_claimed_{false};
  EventCount control_wakes_;
  ElasticPool pool_;
  std::thread control_;
};

}  // namespace penstock
