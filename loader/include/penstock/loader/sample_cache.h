// A node's cache of samples as they are stored. It never replaces one: once it
// is full, an epoch reads from storage exactly what is not in it, in whatever
// order. All processes of one user, or of a group, that load the same data on
// the node share it; it is in memory (a tmpfs) and outlives them.
//
//   auto cache = SampleCache::open(*dataset, {});
//   if (cache) dataset = with_cache(dataset, *cache);
//
// A process may end at any moment: a sample that it was putting in is never
// served, and put in by another one. Samples are found damaged by a checksum
// when they are read, and then read from storage again.
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
  std::string name;  // 1 to 64 letters, digits, ".-_"; "": made from the data
  uint64_t most_bytes = 0;     // that this job fills on this node, all its
                               // processes together; 0: half of what its memory
                               // cgroups leave when the first one opens it
  std::optional<gid_t> group;  // whose members share it; the caller is one
  uint64_t keep_s = 0;  // how long it is kept when nobody uses it any more, at
                        // most kLongestCacheKeep_s
  std::function<void(const std::string& what)> warn;  // in any thread
};

// What one process, or all that ever used the cache, had from it.
struct SampleCacheCounters {
  uint64_t hits = 0;
  uint64_t hit_bytes = 0;
  uint64_t misses = 0;
  uint64_t damaged = 0;  // samples whose checksum was wrong
  uint64_t dropped = 0;  // samples that gave their memory back
  uint64_t peer = 0;     // samples that other nodes' caches had; neither hits
                         // nor misses
  uint64_t peer_bytes = 0;
};

// Its functions are thread-safe, and may be used in a forked process.
class SampleCache {
 public:
  // Joins the node's cache of the data, or makes it.
  // Errors: kInvalidArgument  the name is not allowed, or the cache of that
  //         name is of other data; $PENSTOCK_CACHE_DIR is no tmpfs
  //         kUnavailable  most_bytes is 0, and no memory cgroup has a limit;
  //         1024 processes use the cache
  //         kPermissionDenied  the folder's name is somebody else's
  //         kLimit  no memory for the index
  //         kIo
  [[nodiscard]] static Result<std::shared_ptr<SampleCache>> open(
      const Dataset& dataset, const SampleCacheOptions& options);
  // For samples that others read: their number, and what tells the data from
  // others (a hash of names, sizes, times).
  [[nodiscard]] static Result<std::shared_ptr<SampleCache>> open(
      uint64_t samples, uint64_t fingerprint, const std::string& data_set,
      const SampleCacheOptions& options);
  ~SampleCache();
  SampleCache(const SampleCache&) = delete;
  SampleCache& operator=(const SampleCache&) = delete;

  // Bytes of a sample that is in it; nullopt: it is not.
  // REQUIRES: index < samples().
  std::optional<uint64_t> find(uint64_t index) const;
  // Copies the sample to out, which has find()'s size, and sets label. False:
  // it is not there any more, or damaged.
  // REQUIRES: index < samples().
  [[nodiscard]] bool read(uint64_t index, std::span<uint8_t> out,
                          int64_t& label);
  // Puts it in, if it is not there and there is room. A process that is killed
  // meanwhile leaves nothing that is served. Counts as a miss.
  // REQUIRES: index < samples().
  void store(uint64_t index, std::span<const uint8_t> sample, int64_t label);
  // A miss whose sample nobody tries to put in.
  void count_miss();

  SampleCacheCounters counters() const;  // of this process
  const std::string& path() const;       // of its file
  uint64_t samples() const;              // of the data set
  uint64_t ready_samples() const;        // that are in it now

  // For the loader's own parts.
  class CacheCore& core() {
    return *core_;
  }

 private:
  explicit SampleCache(std::unique_ptr<class CacheCore> core);

  std::unique_ptr<class CacheCore> core_;
};

// The same samples, out of the cache where they are there; with peers each in
// its own node's, out of theirs. What is to come from storage
// (SampleSource::kStorage) does.
std::shared_ptr<const Dataset> with_cache(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    std::shared_ptr<CachePeers> peers = nullptr);

}  // namespace penstock
