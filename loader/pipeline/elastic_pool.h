// A pool of threads that can be resized while they work.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace penstock {

class ElasticPool {
 public:
  // True while the thread should take more work. The body calls it between two
  // work items.
  using Wanted = std::function<bool()>;
  // Runs in the new thread, pst_loader_ID; id is in [0, max_threads). Must
  // return when !wanted() or when there is no more work.
  using Body = std::function<void(size_t id, const Wanted& wanted)>;
  // Runs in a thread before the body (true) and after it.
  using Hook = std::function<void(bool starts)>;

  ElasticPool(size_t max_threads, Body body, Hook hook = {});
  ~ElasticPool() { stop(); }
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  // Starts threads, or has those with the highest ids end after their present
  // work item; does not wait for them. Clamped to max_threads. If the system
  // refuses a thread, fewer run. One caller at a time.
  void resize(size_t threads);
  // Ends all threads and waits for them. Afterwards resize() must not be
  // called.
  void stop();

  size_t running() const { return running_.load(std::memory_order_relaxed); }

 private:
  struct Worker {
    std::thread thread;
    std::atomic<bool> alive{false};
  };
  bool start(size_t id);
  void run(size_t id);

  Body body_;
  Hook hook_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<size_t> target_{0};
  std::atomic<size_t> running_{0};
};

}  // namespace penstock
