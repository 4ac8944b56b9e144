// The cache that a job requests. Without a usable cache the job runs anyway.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "penstock/loader/sample_cache.h"

namespace penstock {

// Puts this node's cache, and other nodes' caches, in front of the dataset. If
// one is unavailable, calls `without` with the reason and goes on without it.
//   peers  as penstock-train --cache-peers: "auto", the job's nodes; a list in
//          Slurm's notation; "": this node's cache only
// Errors: kInvalidArgument  as SampleCache::open(): a cache of other data, or a
//         value that is not allowed; as with_asked_peers()
[[nodiscard]] Result<std::shared_ptr<const Dataset>> with_asked_cache(
    std::shared_ptr<const Dataset> dataset, const SampleCacheOptions& options,
    const std::function<void(Error why)>& without,
    const std::string& peers = "");

// The same for a cache that was already opened with these options.
// Errors: kInvalidArgument  as listed_cache_peers() and open_cache_peers()
[[nodiscard]] Result<std::shared_ptr<const Dataset>> with_asked_peers(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    const SampleCacheOptions& options,
    const std::function<void(Error why)>& without, const std::string& peers);

// with_asked_cache() that keeps the first trouble for a later query.
class AskedCache {
 public:
  // As with_asked_cache().
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> put_before(
      std::shared_ptr<const Dataset> dataset, SampleCacheOptions options,
      const std::string& peers = "");

  // The first trouble; nullopt: none. Thread-safe.
  std::optional<Error> trouble() const { return trouble_->get(); }

 private:
  // Shared with the cache's threads, which may outlive the AskedCache.
  class Trouble {
   public:
    void set(Error error);
    std::optional<Error> get() const;

   private:
    mutable std::mutex mutex_;
    std::optional<Error> first_;
  };
  std::shared_ptr<Trouble> trouble_ = std::make_shared<Trouble>();
};

}  // namespace penstock
