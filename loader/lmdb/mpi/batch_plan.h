// Assigns the positions of an epoch to ranks. Pure.
//
// An epoch is a sequence of positions, divided into steps of one global batch
// each. A step's positions are assigned in rank order. A node's ranks have
// consecutive numbers, so a node has one contiguous range of each step. The
// record at a position is independent of ranks: the position itself, or
// EpochOrder's.
//
// Readers read several steps at a time, a chunk. A chunk does not span epochs.
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

// A chunk: steps [first_step, last_step) of an epoch.
struct StepChunk {
  uint64_t epoch = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
};

struct BatchPlan {
  uint64_t records = 0;
  uint32_t ranks = 1;          // at least 1
  uint32_t batch_records = 1;  // of a rank in a full step; at least 1
  uint32_t chunk_steps = 1;    // at least 1

  uint64_t step_records() const { return uint64_t{ranks} * batch_records; }
  uint64_t steps() const;   // of an epoch; the last one may be short
  uint64_t chunks() const;  // of an epoch
  // Positions of all ranks. REQUIRES: step < steps().
  Positions of_step(uint64_t step) const;
  // Positions of the ranks of a node, or of one rank as {rank, 1}.
  Positions of_ranks(uint64_t step, NodeRanks ranks) const;
  // Chunk numbers continue across epochs. REQUIRES: records > 0.
  StepChunk chunk(uint64_t number) const;
  // Number of chunks of a run; epochs 0: endless, as for a number too large.
  uint64_t chunks_of_run(uint64_t epochs) const;
  uint64_t chunk_of(uint64_t epoch, uint64_t step) const;
  // Index of the rank's first position of the step among all positions of its
  // node in the chunk.
  uint64_t place_in_chunk(uint64_t step, NodeRanks node, uint32_t rank) const;
};

}  // namespace penstock::lmdb
