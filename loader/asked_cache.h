// The cache that a job asks for. It runs without one that cannot be had.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "penstock/loader/sample_cache.h"

namespace penstock {

// The data with the cache, and those of other nodes, before them, or without
// what cannot be had: `without` is told why then.
//   peers  nodes as penstock-train --cache-peers has them: "auto", the job's; a
//          list as Slurm writes it; "": this node's cache is alone
// Errors: kInvalidArgument  as SampleCache::open()'s: it is of other data, or
//         a value is not allowed; as with_asked_peers()'s
[[nodiscard]] Result<std::shared_ptr<const Dataset>> with_asked_cache(
    std::shared_ptr<const Dataset> dataset, const SampleCacheOptions& options,
    const std::function<void(Error why)>& without,
    const std::string& peers = "");

// The same with a cache that is there, which was opened with these options.
// Errors: kInvalidArgument  as listed_cache_peers()'s and open_cache_peers()'s
[[nodiscard]] Result<std::shared_ptr<const Dataset>> with_asked_peers(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    const SampleCacheOptions& options,
    const std::function<void(Error why)>& without, const std::string& peers);

// For who asks later what went wrong.
class AskedCache {
 public:
  // As with_asked_cache().
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> put_before(
      std::shared_ptr<const Dataset> dataset, SampleCacheOptions options,
      const std::string& peers = "");

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
