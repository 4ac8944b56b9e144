// Joins the caches of a job's nodes. Each sample belongs to one node, by a rule
// that all nodes know; other nodes get it from there before they read storage.
//
//   auto peers = open_cache_peers(cache, slurm_cache_peers());
//   if (peers) dataset = with_cache(dataset, cache, *peers);
//
// A node that is silent, late or sends invalid data costs a bounded delay; then
// storage serves, and the node is tried again later.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock {

class SampleCache;

struct CachePeersOptions {
  std::vector<std::string> nodes;  // of the job, by names that resolve
  std::string self;                // this node's name, one of nodes
  std::string address;             // to serve at; "": all of this node's
  uint16_t first_port = 20000;     // range of ports; must be the same on all
  uint16_t last_port = 29999;      // nodes
  uint64_t connect_ms = 200;       // time limits, 1 to 60000
  uint64_t answer_ms = 500;
  std::optional<gid_t> group;  // the cache's
  uint64_t sample_bytes = 0;   // size of every sample; 0: any size
  std::function<void(const std::string& what)> warn;  // in any thread
};

struct CachePeersCounters {
  uint64_t asked = 0;    // get requests to other nodes
  uint64_t had = 0;      // of those, hits
  uint64_t failed = 0;   // of those, without a reply
  uint64_t refused = 0;  // invalid replies and wrong credentials
  uint64_t given = 0;    // samples sent to their owners' caches
  uint64_t dropped = 0;  // samples that could not be sent there
};

// Thread-safe. In a forked process get() returns false and put() does nothing.
class CachePeers {
 public:
  CachePeers() = default;
  virtual ~CachePeers() = default;
  CachePeers(const CachePeers&) = delete;
  CachePeers& operator=(const CachePeers&) = delete;

  // Whether the sample belongs to this node's cache.
  virtual bool is_own(uint64_t index) const = 0;
  // Gets a sample from its owner's cache. False: a miss there, or no valid
  // reply in time.
  // REQUIRES: !is_own(index).
  [[nodiscard]] virtual bool get(uint64_t index, std::vector<uint8_t>& out,
                                 int64_t& label) = 0;
  // Queues a sample for its owner's cache. Does not block; drops the sample if
  // the queue is full.
  // REQUIRES: !is_own(index).
  virtual void put(uint64_t index, std::span<const uint8_t> sample,
                   int64_t label) = 0;
  virtual CachePeersCounters counters() const = 0;
};

// Options from SLURM_STEP_NODELIST or else SLURM_JOB_NODELIST, from
// SLURMD_NODENAME, and from PENSTOCK_CACHE_PORTS (FIRST-LAST) if set.
// Errors: kNotFound  not in a job; kInvalidArgument  a variable's value
[[nodiscard]] Result<CachePeersOptions> slurm_cache_peers();
// Options for a node list in Slurm's notation. This node is SLURMD_NODENAME, or
// else the machine's host name. Ports as above.
// Errors: kInvalidArgument; kLimit  too many nodes
[[nodiscard]] Result<CachePeersOptions> listed_cache_peers(
    const std::string& nodes);

// Starts serving this node's cache to the other nodes, and getting samples from
// theirs. One process of a node serves; when it ends, another one takes over
// within a second. Nodes authenticate each other by munge.
// Errors: kInvalidArgument  self is not in nodes; a name is repeated, empty or
//         longer than 255 bytes; no port in the range; connect_ms or answer_ms
//         not 1 to 60000
//         kUnavailable  munge does not work
//         kLimit  no thread or descriptor available
[[nodiscard]] Result<std::shared_ptr<CachePeers>> open_cache_peers(
    const std::shared_ptr<SampleCache>& cache,
    const CachePeersOptions& options);

}  // namespace penstock
