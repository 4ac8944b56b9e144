// The cache that a job asks for. It runs without one that cannot be had.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "penstock/loader/sample_cache.h"

namespace penstock {

// Other nodes' caches beside that one; nullptr: it is alone.
using PeersOf = std::function<Result<std::shared_ptr<CachePeers>>(
    const std::shared_ptr<SampleCache>& cache)>;

// The data with the cache, and those of other nodes, before them, or without
// what cannot be had: `without` is told why then.
// Errors: kInvalidArgument  as SampleCache::open()'s: it is of other data, or
//         a value is not allowed; as peers_of()'s
[[nodiscard]] Result<std::shared_ptr<const Dataset>> with_asked_cache(
    std::shared_ptr<const Dataset> dataset, const SampleCacheOptions& options,
    const std::function<void(Error why)>& without,
    const PeersOf& peers_of = nullptr);

// For who asks later what went wrong.
class AskedCache {
 public:
  // As with_asked_cache().
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> put_before(
      std::shared_ptr<const Dataset> dataset, SampleCacheOptions options);

  // What went wrong first; nullopt: nothing. Thread-safe.
  std::optional<Error> trouble() const { return trouble_->get(); }

 private:
  // Of the cache's threads too, which may outlive this.
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
