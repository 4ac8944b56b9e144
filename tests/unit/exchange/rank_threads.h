// Runs a function as each rank of a job, in threads.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "exchange/transport/thread_ranks.h"
#include "tests/unit/exchange/transport_cases.h"

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

}  // namespace penstock::exchange::test
