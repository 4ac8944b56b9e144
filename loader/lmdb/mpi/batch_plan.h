// Who gets which positions of an epoch. Pure.
//
// An epoch is a row of positions, cut into steps of one global batch each. A
// step's positions are dealt out in rank order, so that a node's ranks, which
// are numbered one after the other, have one stretch of it. What record is at
// a position has nothing to do with ranks (EpochOrder, or the position itself).
// Steps are read in chunks of some, which end with their epoch.
#pragma once

#include <cstdint>

namespace penstock::lmdb {

// [first, last)
struct Positions {
  uint64_t first = 0;
  uint64_t last = 0;

  uint64_t count() const { return last - first; }
  bool operator==(const Positions&) const = default;
};

// A node's ranks: [first, first + count).
struct NodeRanks {
  uint32_t first = 0;
  uint32_t count = 1;
};

// A chunk of the run: of an epoch, and in it steps.
struct StepChunk {
  uint64_t epoch = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;  // not in it
};

struct BatchPlan {
  uint64_t records = 0;
  uint32_t ranks = 1;          // at least 1
  uint32_t batch_records = 1;  // of a rank in a full step; at least 1
  uint32_t chunk_steps = 1;    // at least 1

  uint64_t step_records() const { return uint64_t{ranks} * batch_records; }
  uint64_t steps() const;   // of an epoch; the last one may be short
  uint64_t chunks() const;  // of an epoch
  // Of all ranks together. REQUIRES: step < steps().
  Positions of_step(uint64_t step) const;
  // Of the ranks of a node, or of one rank as {rank, 1}.
  Positions of_ranks(uint64_t step, NodeRanks ranks) const;
  // Chunks are counted through all epochs. REQUIRES: records > 0.
  StepChunk chunk(uint64_t number) const;
  // Of so many epochs; 0: without end, as for more than can be counted.
  uint64_t chunks_of_run(uint64_t epochs) const;
  uint64_t chunk_of(uint64_t epoch, uint64_t step) const;
  // Where a rank's part of a step begins among its node's positions of the
  // chunk, in their order.
  uint64_t place_in_chunk(uint64_t step, NodeRanks node, uint32_t rank) const;
};

}  // namespace penstock::lmdb
