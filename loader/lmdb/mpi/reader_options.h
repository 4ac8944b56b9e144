// What an LmdbReader is to do.
#pragma once

#include <cstdint>

#include "common/result.h"

namespace penstock::lmdb {

enum class DirectReads {
  kAuto,  // past the page cache, if the file is larger than the cache may be
  kOff,
  kOn,
};

struct ReaderOptions {
  // The six optimisations of LMDBIO (docs/lmdb.md), each on those before it
  // that it needs; stock LMDB, with none, is liblmdb itself.
  bool lmm = true;    // one reader, or some, per node, and a shared buffer
  bool dm = true;     // readers start at their place: the tree is walked first
  bool dio = true;    // positioned reads, not page faults; needs dm
  bool prov = true;   // places from the sidecar, where it is right; needs dm
  bool coal = true;   // neighbouring records in one request; needs dio
  bool stag = false;  // nodes take turns
  DirectReads direct = DirectReads::kAuto;  // of dio
  // Hand out pointers into the mapped file where it is in the page cache;
  // needs dm.
  bool map_cached = true;

  bool shuffle = false;  // needs dm
  uint64_t seed = 0;
  uint64_t epochs = 1;          // 0: without end
  uint32_t batch_records = 32;  // of each rank
  // Of the node's buffer; 0: a quarter of the memory that the job has left, at
  // most 256 MiB.
  uint64_t buffer_bytes = 0;
  uint32_t readers_per_node = 1;
  uint32_t stagger_width = 1;  // nodes that read at once
  // How long ranks wait for each other in create() and, staggered, for their
  // turn.
  uint32_t peer_timeout_ms = 600000;
  // Ranks that share a buffer; 0: all of the node.
  uint32_t ranks_per_buffer = 0;
};

// Errors: kInvalidArgument  a switch without one that it needs, or a number out
//                           of range; the message names it
[[nodiscard]] Status check_options(const ReaderOptions& options);

}  // namespace penstock::lmdb
