#include "penstock/loader/sample_cache.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "loader/cache/cache_core.h"
#include "loader/cache/cache_list.h"
#include "loader/data/memory_room.h"

namespace penstock {
namespace {

std::string name_of(uint64_t fingerprint) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(fingerprint));
  return text;
}

Result<uint64_t> default_bytes() {
  const auto room = group_memory();
  if (room) return room->left_bytes / 2;
  return Error{Code::kUnavailable, 0,
               "no memory cgroup limits this job, so that the cache's size has "
               "to be given"};
}

}  // namespace

SampleCache::SampleCache(std::unique_ptr<CacheCore> core)
    : core_(std::move(core)) {}

SampleCache::~SampleCache() { core_->file().leave(); }

Result<std::shared_ptr<SampleCache>> SampleCache::open(
    const Dataset& dataset, const SampleCacheOptions& options) {
  std::error_code ignored;
  const auto path = std::filesystem::absolute(dataset.path(), ignored);
  return open(dataset.size(), dataset.fingerprint(), path.string(), options);
}

Result<std::shared_ptr<SampleCache>> SampleCache::open(
    uint64_t samples, uint64_t fingerprint, const std::string& data_set,
    const SampleCacheOptions& options) {
  if (samples == 0 || samples > kMostCachedSamples) {
    return invalid("a cache of " + std::to_string(samples) +
                   " samples; allowed: 1 to " +
                   std::to_string(kMostCachedSamples));
  }
  auto most_bytes = options.most_bytes > 0
                        ? Result<uint64_t>(options.most_bytes)
                        : default_bytes();
  if (!most_bytes) return std::move(most_bytes).error();
  const CacheOwner owner = own_cache_folder(options.group);
  sweep_caches(owner);
  auto file = CacheFile::join(
      owner, options.name.empty() ? name_of(fingerprint) : options.name,
      {fingerprint, samples, data_set, options.keep_s});
  if (!file) return std::move(file).error();
  auto share = FillShare::open((*file)->shares(), own_job_key(), *most_bytes);
  if (!share) {  // the process can still read what others stored
    if (options.warn) {
      options.warn((*file)->path() + ": " + share.error().message);
    }
    share = FillShare::none();
  }
  auto core = std::make_unique<CacheCore>(
      *std::move(file), *share, [] { return group_memory(); }, options.warn);
  return std::shared_ptr<SampleCache>(new SampleCache(std::move(core)));
}

std::optional<uint64_t> SampleCache::find(uint64_t index) const {
  return core_->find(index);
}

bool SampleCache::read(uint64_t index, std::span<uint8_t> out, int64_t& label) {
  return core_->read(index, out, label);
}

void SampleCache::store(uint64_t index, std::span<const uint8_t> sample,
                        int64_t label) {
  core_->store(index, sample, label);
}

void SampleCache::count_miss() { core_->count_miss(); }

SampleCacheCounters SampleCache::counters() const { return core_->counters(); }

const std::string& SampleCache::path() const { return core_->file().path(); }

uint64_t SampleCache::ready_samples() const {
  return std::min<uint64_t>(core_->file().header().ready_samples, samples());
}

uint64_t SampleCache::samples() const { return core_->file().samples(); }

}  // namespace penstock
