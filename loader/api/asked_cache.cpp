#include "loader/api/asked_cache.h"

#include <cerrno>
#include <utility>

namespace penstock {
namespace {

// nullptr: only this node's cache.
Result<std::shared_ptr<CachePeers>> open_peers(
    const std::string& nodes, const Dataset& dataset,
    const std::shared_ptr<SampleCache>& cache,
    const SampleCacheOptions& options) {
  if (nodes.empty()) return std::shared_ptr<CachePeers>();
  auto wanted =
      nodes == "auto" ? slurm_cache_peers() : listed_cache_peers(nodes);
  if (!wanted) return std::move(wanted).error();
  if (wanted->nodes.size() == 1 && wanted->nodes[0] == wanted->self) {
    return std::shared_ptr<CachePeers>();
  }
  wanted->sample_bytes = dataset.tensor_bytes();
  wanted->group = options.group;
  wanted->warn = options.warn;
  return open_cache_peers(cache, *wanted);
}

}  // namespace

Result<std::shared_ptr<const Dataset>> with_asked_cache(
    std::shared_ptr<const Dataset> dataset, const SampleCacheOptions& options,
    const std::function<void(Error why)>& without, const std::string& peers) {
  auto cache = SampleCache::open(*dataset, options);
  if (!cache && cache.error().code == Code::kInvalidArgument) {
    return std::move(cache).error();
  }
  if (!cache) {
    without(std::move(cache).error().wrap("without a cache"));
    return dataset;
  }
  return with_asked_peers(std::move(dataset), *std::move(cache), options,
                          without, peers);
}

Result<std::shared_ptr<const Dataset>> with_asked_peers(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    const SampleCacheOptions& options,
    const std::function<void(Error why)>& without, const std::string& nodes) {
  auto peers = open_peers(nodes, *dataset, cache, options);
  if (!peers && peers.error().code == Code::kInvalidArgument) {
    return std::move(peers).error();
  }
  if (!peers) {
    without(std::move(peers).error().wrap("without other nodes' caches"));
    peers = std::shared_ptr<CachePeers>();
  }
  return with_cache(std::move(dataset), std::move(cache), *std::move(peers));
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
    std::shared_ptr<const Dataset> dataset, SampleCacheOptions options,
    const std::string& peers) {
  options.warn = [trouble = trouble_](const std::string& what) {
    trouble->set({Code::kIo, EIO, what});
  };
  return with_asked_cache(
      std::move(dataset), options,
      [this](Error why) { trouble_->set(std::move(why)); }, peers);
}

}  // namespace penstock
