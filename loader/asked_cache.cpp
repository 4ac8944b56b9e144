#include "loader/asked_cache.h"

#include <cerrno>
#include <utility>

namespace penstock {

Result<std::shared_ptr<const Dataset>> with_asked_cache(
    std::shared_ptr<const Dataset> dataset, const SampleCacheOptions& options,
    const std::function<void(Error why)>& without, const PeersOf& peers_of) {
  auto cache = SampleCache::open(*dataset, options);
  if (!cache && cache.error().code == Code::kInvalidArgument) {
    return std::move(cache).error();
  }
  if (!cache) {
    without(std::move(cache).error().wrap("without a cache"));
    return dataset;
  }
  auto peers = peers_of ? peers_of(*cache) : std::shared_ptr<CachePeers>();
  if (!peers && peers.error().code == Code::kInvalidArgument) {
    return std::move(peers).error();
  }
  if (!peers) {
    without(std::move(peers).error().wrap("without other nodes' caches"));
    peers = std::shared_ptr<CachePeers>();
  }
  return with_cache(std::move(dataset), *std::move(cache), *std::move(peers));
}

void AskedCache::Trouble::set(Error error) {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::move(error);
}

std::optional<Error> AskedCache::Trouble::get() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

Result<std::shared_ptr<const Dataset>> AskedCache::put_before(
    std::shared_ptr<const Dataset> dataset, SampleCacheOptions options) {
  options.warn = [trouble = trouble_](const std::string& what) {
    trouble->set({Code::kIo, EIO, what});
  };
  return with_asked_cache(std::move(dataset), options,
                          [this](Error why) { trouble_->set(std::move(why)); });
}

}  // namespace penstock
