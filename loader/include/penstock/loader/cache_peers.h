// The caches of a job's nodes as one: each holds the samples that are its own,
// by a rule that all nodes know, and what another one holds is had from there
// before storage is read.
//
//   auto peers = open_cache_peers(cache, slurm_cache_peers());
//   if (peers) dataset = with_cache(dataset, cache, *peers);
//
// A node that does not answer, answers late, or says what cannot be right costs
// at most a bounded delay, then storage serves; it is tried again later.
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
  std::string self;                // this one's name, one of nodes
  std::string address;             // served at; "": all of this node's
  uint16_t first_port = 20000;     // nodes find each other in this range, which
  uint16_t last_port = 29999;      // is the same on all
  uint64_t connect_ms = 200;       // how long a node may take
  uint64_t answer_ms = 500;
  std::optional<gid_t> group;  // as the cache's
  uint64_t sample_bytes = 0;   // of each sample; 0: of any length
  std::function<void(const std::string& what)> warn;  // in any thread
};

struct CachePeersCounters {
  uint64_t asked = 0;    // samples that other nodes were asked for
  uint64_t had = 0;      // of those, samples that they had
  uint64_t failed = 0;   // of those, without an answer
  uint64_t refused = 0;  // answers that could not be right
  uint64_t given = 0;    // samples read here that went to their nodes' caches
  uint64_t dropped = 0;  // and that did not
};

// Thread-safe; in a forked process nobody is asked, and nothing given.
class CachePeers {
 public:
  CachePeers() = default;
  virtual ~CachePeers() = default;
  CachePeers(const CachePeers&) = delete;
  CachePeers& operator=(const CachePeers&) = delete;

  // Whether this node's cache is where a sample belongs.
  virtual bool is_own(uint64_t index) const = 0;
  // Another node's sample, out of its cache. False: it is not there, or the
  // node does not say in time.
  // REQUIRES: !is_own(index).
  [[nodiscard]] virtual bool get(uint64_t index, std::vector<uint8_t>& out,
                                 int64_t& label) = 0;
  // Gives a sample to its node, later, or not at all where that is too slow.
  // REQUIRES: !is_own(index).
  virtual void put(uint64_t index, std::span<const uint8_t> sample,
                   int64_t label) = 0;
  virtual CachePeersCounters counters() const = 0;
};

// From SLURM_STEP_NODELIST or SLURM_JOB_NODELIST, SLURMD_NODENAME, and
// PENSTOCK_CACHE_PORTS (FIRST-LAST) where it is set.
// Errors: kNotFound  not in a job; kInvalidArgument  what stands in there
[[nodiscard]] Result<CachePeersOptions> slurm_cache_peers();
// The same of nodes that are listed as Slurm does; this one is SLURMD_NODENAME,
// or else what the machine is called.
// Errors: kInvalidArgument
[[nodiscard]] Result<CachePeersOptions> listed_cache_peers(
    const std::string& nodes);

// Serves this node's cache to the others, and asks them; one process of the
// node serves at a time, and when it ends another one does within a second.
// Errors: kInvalidArgument  self is no node, a name comes twice or is longer
//         than 255, no port in the range, connect_ms or answer_ms not 1 to
//         60000
//         kUnavailable  no munge, by which nodes know each other
//         kLimit  the system gives no thread or descriptor
[[nodiscard]] Result<std::shared_ptr<CachePeers>> open_cache_peers(
    const std::shared_ptr<SampleCache>& cache,
    const CachePeersOptions& options);

}  // namespace penstock
