// Runs a function as each rank of a job, in threads.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "exchange/transport/thread_ranks.h"

namespace penstock::exchange::test {

inline void as_ranks(int ranks, const std::function<void(Transport&)>& work) {
  ThreadRanks group(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(group.transport(rank));
    transports.back()->reserve(64);
  }
  std::vector<std::thread> threads;
  for (auto& transport : transports) {
    threads.emplace_back([&work, &transport] { work(*transport); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Waits for the end of an operation; false: it failed, or took 10 s.
inline bool wait_for(Transport& transport,
                     const Result<Transport::Request>& request,
                     size_t* received = nullptr) {
  if (!request) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    const Result<bool> done = transport.test(*request, received);
    if (!done) return false;
    if (*done) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace penstock::exchange::test
