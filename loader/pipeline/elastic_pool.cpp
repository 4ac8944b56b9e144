#include "loader/pipeline/elastic_pool.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <string>
#include <system_error>

namespace penstock {

ElasticPool::ElasticPool(size_t max_threads, Body body, Hook hook)
    : body_(std::move(body)), hook_(std::move(hook)) {
  for (size_t i = 0; i < max_threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
}

void ElasticPool::stop() {
  target_ = 0;
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void ElasticPool::run(size_t id) {
  const std::string name = "pst_loader_" + std::to_string(id);
  pthread_setname_np(pthread_self(), name.c_str());
  if (hook_) hook_(true);
  body_(id, [this, id] { return id < target_.load(); });
  if (hook_) hook_(false);
  running_.fetch_sub(1);
  workers_[id]->alive = false;
}

// A thread that has not ended yet continues because of the new target; one that
// has ended is replaced.
bool ElasticPool::start(size_t id) {
  Worker& worker = *workers_[id];
  if (worker.alive) return true;
  if (worker.thread.joinable()) worker.thread.join();
  worker.alive = true;
  running_.fetch_add(1);
  try {
    worker.thread = std::thread([this, id] { run(id); });
    return true;
  } catch (const std::system_error&) {  // EAGAIN: the limit on tasks
  } catch (const std::bad_alloc&) {
  }
  running_.fetch_sub(1);
  worker.alive = false;
  return false;
}

void ElasticPool::resize(size_t threads) {
  target_ = std::min(threads, workers_.size());
  for (size_t id = 0; id < target_; ++id) {
    if (!start(id)) return;
  }
}

}  // namespace penstock
