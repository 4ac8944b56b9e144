// Options of an LmdbReader.
#pragma once

#include <cstdint>

#include "common/result.h"

namespace penstock::lmdb {

enum class DirectReads {
  kAuto,  // bypass the page cache if it cannot hold the file
  kOff,
  kOn,
};

struct ReaderOptions {
  // The six optimisations of LMDBIO (docs/lmdb.md). Some need others. Stock
  // LMDB, without any, is liblmdb itself.
  bool lmm = true;    // one or more readers per node, and a shared buffer
  bool dm = true;     // walk the tree first; readers start at their records
  bool dio = true;    // positioned reads instead of page faults; needs dm
  bool prov = true;   // positions from a matching sidecar; needs dm
  bool coal = true;   // neighbouring records in one request; needs dio
  bool stag = false;  // nodes take turns (staggering)
  DirectReads direct = DirectReads::kAuto;  // of dio
  // Hand out pointers into the mapped file for records in the page cache; needs
  // dm.
  bool map_cached = true;

  bool shuffle = false;  // needs dm
  uint64_t seed = 0;
  uint64_t epochs = 1;          // 0: endless
  uint32_t batch_records = 32;  // of each rank
  // Of the node's buffer; 0: a quarter of the job's free memory, divided by the
  // machine's buffers, at most 256 MiB.
  uint64_t buffer_bytes = 0;
  uint32_t readers_per_node = 1;
  uint32_t stagger_width = 1;  // nodes that read at the same time
  // Time limit for ranks to come to create() and, with stag, for a turn.
  uint32_t peer_timeout_ms = 600000;
  // Ranks that share a buffer; 0: all ranks of the node.
  uint32_t ranks_per_buffer = 0;
};

// Errors: kInvalidArgument  a switch without one that it needs; a number out of
//                           range; the message names it
[[nodiscard]] Status check_options(const ReaderOptions& options);

}  // namespace penstock::lmdb
