// A node's cache of stored samples, in memory (a tmpfs). A full cache does not
// replace samples: each epoch reads exactly the missing ones from storage, in
// any order. All processes of one user, or of a group, that load the same data
// on the node share the cache, and it can outlive them.
//
//   auto cache = SampleCache::open(*dataset, {});
//   if (cache) dataset = with_cache(dataset, *cache);
//
// A process may end at any moment: a sample that it was storing is never
// served, and another process stores it. A checksum detects damaged samples
// when they are read; they are read from storage again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "penstock/loader/cache_peers.h"
#include "penstock/loader/dataset.h"
#include "penstock/result.h"

namespace penstock {

inline constexpr uint64_t kMostCachedSamples = uint64_t{1} << 32;
inline constexpr uint64_t kLongestCacheKeep_s = 604800;

struct SampleCacheOptions {
  std::string name;  // 1 to 64 letters, digits, ".-_"; "": from the data's hash
  // Quota of this job on this node, for all its processes together. 0: half of
  // what its memory cgroups leave when a process opens the cache.
  uint64_t most_bytes = 0;
  std::optional<gid_t> group;  // its members, the caller among them, share it
  uint64_t keep_s = 0;         // to keep the cache after its last use, at most
                               // kLongestCacheKeep_s
  std::function<void(const std::string& what)> warn;  // in any thread
};

// Counters of one process, or of all processes that ever used the cache.
struct SampleCacheCounters {
  uint64_t hits = 0;
  uint64_t hit_bytes = 0;
  uint64_t misses = 0;
  uint64_t damaged = 0;  // samples with a wrong checksum
  uint64_t dropped = 0;  // samples evicted to free memory for programs
  uint64_t peer = 0;     // samples from other nodes' caches; neither hits nor
                         // misses
  uint64_t peer_bytes = 0;
};

// Thread-safe, and usable in a forked process.
class SampleCache {
 public:
  // Joins the node's cache of the data, or creates it.
  // Errors: kInvalidArgument  the name is not allowed; the cache of that name
  //         holds other data; $PENSTOCK_CACHE_DIR is not a tmpfs
  //         kUnavailable  most_bytes is 0, and no memory cgroup has a limit;
  //         1024 processes use the cache
  //         kPermissionDenied  the folder belongs to somebody else
  //         kLimit  no memory for the index
  //         kIo
  [[nodiscard]] static Result<std::shared_ptr<SampleCache>> open(
      const Dataset& dataset, const SampleCacheOptions& options);
  // For a reader other than Dataset: the number of samples, a fingerprint of
  // the data (a hash of names, sizes, times), and their path for messages.
  [[nodiscard]] static Result<std::shared_ptr<SampleCache>> open(
      uint64_t samples, uint64_t fingerprint, const std::string& data_set,
      const SampleCacheOptions& options);
  ~SampleCache();
  SampleCache(const SampleCache&) = delete;
  SampleCache& operator=(const SampleCache&) = delete;

  // Size of the cached sample in bytes; nullopt: not in the cache.
  // REQUIRES: index < samples().
  std::optional<uint64_t> find(uint64_t index) const;
  // Copies the sample to out, which has find()'s size, and sets label. False:
  // the sample was evicted meanwhile, or is damaged.
  // REQUIRES: index < samples().
  [[nodiscard]] bool read(uint64_t index, std::span<uint8_t> out,
                          int64_t& label);
  // Stores the sample if it is missing and there is room. If the process is
  // killed meanwhile, the sample is not served. Counts a miss.
  // REQUIRES: index < samples().
  void store(uint64_t index, std::span<const uint8_t> sample, int64_t label);
  // Counts a miss without storing the sample.
  void count_miss();

  SampleCacheCounters counters() const;  // of this process
  const std::string& path() const;       // of the cache's file
  uint64_t samples() const;              // of the data set
  uint64_t ready_samples() const;        // in the cache now

  // For use inside the loader.
  class CacheCore& core() {
    return *core_;
  }

 private:
  explicit SampleCache(std::unique_ptr<class CacheCore> core);

  std::unique_ptr<class CacheCore> core_;
};

// The same samples, read from the cache on a hit; with peers also from their
// owner's cache. SampleSource::kStorage bypasses the caches.
std::shared_ptr<const Dataset> with_cache(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    std::shared_ptr<CachePeers> peers = nullptr);

}  // namespace penstock
