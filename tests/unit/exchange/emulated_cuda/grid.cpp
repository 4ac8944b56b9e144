// Threads of a block are contexts of one thread, which switch where CUDA's
// threads wait for each other.
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/unit/exchange/emulated_cuda/kernel.h"
#include "tests/unit/exchange/emulated_cuda/runtime.h"

namespace penstock::emulated_cuda {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr unsigned kWarpSize = 32;

struct Member {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool is_done = false;
  uint64_t warp_waits = 0, block_waits = 0;  // reached so far
};

struct Block {
  const std::function<void()>* kernel = nullptr;
  std::vector<Member> members;
  ucontext_t scheduler;
  unsigned running = 0;
  uint64_t values[2048 / kWarpSize][kWarpSize];
};
Block g_block;

void run_member() {
  (*g_block.kernel)();
  g_block.members[g_block.running].is_done = true;
}

Member& self() { return g_block.members[g_block.running]; }

void give_turn() { swapcontext(&self().context, &g_block.scheduler); }

// As in CUDA, ended threads are not waited for.
template <class Count>
void wait_for(unsigned first, unsigned end, const Count& waits) {
  const uint64_t own = ++waits(self());
  for (;;) {
    bool are_there = true;
    for (unsigned i = first; i < end; ++i) {
      Member& other = g_block.members[i];
      are_there = are_there && (other.is_done || waits(other) >= own);
    }
    if (are_there) return;
    give_turn();
  }
}

unsigned first_of_warp() { return g_block.running / kWarpSize * kWarpSize; }

void wait_for_warp() {
  const unsigned first = first_of_warp();
  wait_for(
      first,
      std::min<unsigned>(first + kWarpSize, unsigned(g_block.members.size())),
      [](Member& member) -> uint64_t& { return member.warp_waits; });
}

uint64_t* values_of_warp() {
  return g_block.values[first_of_warp() / kWarpSize];
}

void run_block(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    Member& member = g_block.members[i];
    member.is_done = false;
    member.warp_waits = member.block_waits = 0;
    getcontext(&member.context);
    member.context.uc_stack.ss_sp = member.stack.get();
    member.context.uc_stack.ss_size = kStackBytes;
    member.context.uc_link = &g_block.scheduler;
    makecontext(&member.context, run_member, 0);
  }
  for (bool is_going = true; is_going;) {
    is_going = false;
    for (unsigned i = 0; i < threads; ++i) {
      if (g_block.members[i].is_done) continue;
      is_going = true;
      g_block.running = threadIdx.x = i;
      swapcontext(&g_block.scheduler, &g_block.members[i].context);
    }
  }
}

}  // namespace

void run_grid(unsigned blocks, unsigned threads,
              const std::function<void()>& kernel) {
  g_block.kernel = &kernel;
  g_block.members.resize(threads);
  for (Member& member : g_block.members) {
    if (member.stack == nullptr) member.stack.reset(new char[kStackBytes]);
  }
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) run_block(threads);
}

void wait_for_block() {
  wait_for(0, unsigned(g_block.members.size()),
           [](Member& member) -> uint64_t& { return member.block_waits; });
}

uint32_t vote(bool is_yes) {
  const unsigned lane = g_block.running % kWarpSize;
  values_of_warp()[lane] = is_yes ? 1 : 0;
  wait_for_warp();
  uint32_t votes = 0;
  for (unsigned i = 0; i < kWarpSize; ++i) {
    votes |= static_cast<uint32_t>(values_of_warp()[i]) << i;
  }
  wait_for_warp();
  return votes;
}

uint64_t value_of_lane(uint64_t value, unsigned lane) {
  values_of_warp()[g_block.running % kWarpSize] = value;
  wait_for_warp();
  const uint64_t theirs = values_of_warp()[lane];
  wait_for_warp();
  return theirs;
}

}  // namespace penstock::emulated_cuda
