#include "loader/cache/fill_share.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "common/checksum.h"

namespace penstock {
namespace {

// This process's line for the hierarchy that limits memory; "" if unknown.
std::string memory_cgroup() {
  std::ifstream groups("/proc/self/cgroup");
  std::string unified;
  for (std::string line; std::getline(groups, line);) {
    if (line.find(":memory:") != std::string::npos) return line;
    if (line.starts_with("0::")) unified = line;
  }
  return unified;
}

// Subtracts down to 0: a damaged counter must not wrap.
void take_from(std::atomic<uint64_t>& counter, uint64_t bytes) {
  uint64_t now = counter;
  while (!counter.compare_exchange_weak(now, now - std::min(now, bytes))) {
  }
}

}  // namespace

uint64_t own_job_key() {
  const char* job = std::getenv("SLURM_JOB_ID");
  const std::string text =
      job != nullptr ? "job " + std::string(job) : memory_cgroup();
  const uint64_t key = checksum(text);
  return key == 0 ? 1 : key;
}

Result<FillShare> FillShare::open(ShareTable& table, uint64_t key,
                                  uint64_t most_bytes) {
  // All processes of a job probe in the same order, and entries are never
  // freed, so a job gets only one.
  for (uint32_t i = 0; i < kShares; ++i) {
    const uint32_t number = static_cast<uint32_t>((key + i) % kShares);
    ShareTable::Share& share = table.shares[number];
    uint64_t found = 0;
    if (!share.key.compare_exchange_strong(found, key) && found != key) {
      continue;
    }
    uint64_t most = share.most_bytes;
    while (most < most_bytes &&
           !share.most_bytes.compare_exchange_weak(most, most_bytes)) {
    }
    return FillShare(&share, number);
  }
  return Error{Code::kLimit, 0,
               std::to_string(kShares) +
                   " jobs have filled the cache, more than it can count; "
                   "remove it with `penstock cache drop`"};
}

FillShare FillShare::none() {
  static ShareTable::Share nothing;
  return {&nothing, kShares};
}

bool FillShare::take(uint64_t bytes) {
  uint64_t filled = share_->filled_bytes;
  do {
    const uint64_t most = share_->most_bytes;
    if (filled > most || bytes > most - filled) return false;
  } while (!share_->filled_bytes.compare_exchange_weak(filled, filled + bytes));
  return true;
}

void FillShare::settle(uint64_t bytes) { share_->settled_bytes += bytes; }

void FillShare::give(uint64_t bytes) { take_from(share_->filled_bytes, bytes); }

void FillShare::give_settled(uint64_t bytes) {
  take_from(share_->settled_bytes, bytes);
  take_from(share_->filled_bytes, bytes);
}

bool FillShare::is_turn(uint64_t now_ns, uint64_t interval_ns) {
  uint64_t last_ns = share_->dropped_ns;
  return now_ns >= last_ns + interval_ns &&
         share_->dropped_ns.compare_exchange_strong(last_ns, now_ns);
}

}  // namespace penstock
