#include "loader/lmdb/mpi/batch_plan.h"

#include <algorithm>

namespace penstock::lmdb {

uint64_t BatchPlan::steps() const {
  return (records + step_records() - 1) / step_records();
}

uint64_t BatchPlan::chunks() const {
  return (steps() + chunk_steps - 1) / chunk_steps;
}

Positions BatchPlan::of_step(uint64_t step) const {
  const uint64_t first = step * step_records();
  return {first, std::min(records, first + step_records())};
}

// A short step is divided evenly too: the ranks' numbers of records differ by
// one at most.
Positions BatchPlan::of_ranks(uint64_t step, NodeRanks part) const {
  const Positions all = of_step(step);
  const auto start_of = [&](uint64_t rank) {
    return all.first + all.count() * rank / ranks;
  };
  return {start_of(part.first), start_of(uint64_t{part.first} + part.count)};
}

StepChunk BatchPlan::chunk(uint64_t number) const {
  const uint64_t first = number % chunks() * chunk_steps;
  return {number / chunks(), first, std::min(steps(), first + chunk_steps)};
}

uint64_t BatchPlan::chunks_of_run(uint64_t epochs) const {
  // Leaves room for a thread to add its stride without an overflow.
  constexpr uint64_t kEndless = UINT64_MAX - 4096;
  if (chunks() == 0) return 0;
  return epochs == 0 || epochs > kEndless / chunks() ? kEndless
                                                     : epochs * chunks();
}

uint64_t BatchPlan::chunk_of(uint64_t epoch, uint64_t step) const {
  return epoch * chunks() + step / chunk_steps;
}

uint64_t BatchPlan::place_in_chunk(uint64_t step, NodeRanks node,
                                   uint32_t rank) const {
  // All earlier steps are full: only an epoch's last step may be short.
  const uint64_t before =
      step % chunk_steps * (uint64_t{node.count} * batch_records);
  return before + of_ranks(step, {rank, 1}).first - of_ranks(step, node).first;
}

}  // namespace penstock::lmdb
