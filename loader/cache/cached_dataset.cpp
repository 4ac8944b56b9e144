// A data set that reads samples from a cache, and from storage on a miss.
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "loader/cache/cache_core.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {
namespace {

class CachedDataset : public Dataset {
 public:
  CachedDataset(std::shared_ptr<const Dataset> stored,
                std::shared_ptr<SampleCache> cache,
                std::shared_ptr<CachePeers> peers)
      : stored_(std::move(stored)),
        cache_(std::move(cache)),
        peers_(std::move(peers)) {}

  uint64_t size() const override { return stored_->size(); }
  int64_t label(uint64_t index) const override { return stored_->label(index); }
  std::string name(uint64_t index) const override {
    return stored_->name(index);
  }
  const std::string& path() const override { return stored_->path(); }
  uint64_t fingerprint() const override { return stored_->fingerprint(); }
  uint64_t tensor_bytes() const override { return stored_->tensor_bytes(); }
  DatasetFacts facts() const override { return stored_->facts(); }
  uint64_t cached_samples() const override { return cache_->ready_samples(); }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

 private:
  const std::shared_ptr<const Dataset> stored_;
  const std::shared_ptr<SampleCache> cache_;
  const std::shared_ptr<CachePeers> peers_;  // nullptr: none
};

class CachedReader : public SampleReader {
 public:
  CachedReader(SampleCache& cache, CachePeers* peers,
               std::unique_ptr<SampleReader> stored)
      : cache_(cache), peers_(peers), stored_(std::move(stored)) {}

  Result<uint64_t> open(uint64_t index, SampleSource source) override;
  Result<std::span<const uint8_t>> read() override;
  int64_t label() const override { return label_; }
  bool is_cached() const override { return is_cached_ || is_from_peer_; }
  bool is_from_peer() const override { return is_from_peer_; }

 private:
  bool is_peers(uint64_t index) const {
    return peers_ != nullptr && !peers_->is_own(index);
  }
  void keep(std::span<const uint8_t> sample);
  Result<std::span<const uint8_t>> read_stored();

  SampleCache& cache_;
  CachePeers* const peers_;  // nullptr: none
  const std::unique_ptr<SampleReader> stored_;
  uint64_t index_ = 0;
  SampleSource source_ = SampleSource::kUsual;
  bool is_cached_ = false;     // in this node's cache
  bool is_from_peer_ = false;  // received: the sample is in buffer_
  uint64_t bytes_ = 0;
  int64_t label_ = kNoLabel;
  std::vector<uint8_t> buffer_;
};

Result<uint64_t> CachedReader::open(uint64_t index, SampleSource source) {
  index_ = index;
  source_ = source;
  label_ = kNoLabel;
  const auto bytes =
      source == SampleSource::kStorage ? std::nullopt : cache_.find(index);
  is_cached_ = bytes.has_value();
  is_from_peer_ = !is_cached_ && source == SampleSource::kUsual &&
                  is_peers(index) && peers_->get(index, buffer_, label_);
  if (is_from_peer_) {
    bytes_ = buffer_.size();
  } else if (is_cached_) {
    bytes_ = *bytes;
  } else {
    return stored_->open(index, source);
  }
  return bytes_;
}

Result<std::span<const uint8_t>> CachedReader::read() {
  if (is_from_peer_) {
    cache_.core().count_peer(bytes_);
    return std::span<const uint8_t>(buffer_);
  }
  if (!is_cached_) return read_stored();
  try {
    if (buffer_.size() < bytes_) buffer_.resize(bytes_);
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM, "no memory for a cached sample"};
  }
  const auto sample = std::span(buffer_).first(bytes_);
  if (cache_.read(index_, sample, label_)) {
    return std::span<const uint8_t>(sample);
  }
  // The sample was evicted, or found damaged, after open().
  is_cached_ = false;
  auto opened = stored_->open(index_, source_);
  if (!opened) return std::move(opened).error();
  return read_stored();
}

Result<std::span<const uint8_t>> CachedReader::read_stored() {
  auto sample = stored_->read();
  label_ = stored_->label();
  if (sample && source_ == SampleSource::kUsual) keep(*sample);
  return sample;
}

// Stores a sample read from storage in its owner's cache: this node's or a
// peer's.
void CachedReader::keep(std::span<const uint8_t> sample) {
  if (!is_peers(index_)) {
    cache_.store(index_, sample, label_);
    return;
  }
  cache_.count_miss();
  peers_->put(index_, sample, label_);
}

std::unique_ptr<SampleReader> CachedDataset::new_reader(ReadMode mode) const {
  return std::make_unique<CachedReader>(*cache_, peers_.get(),
                                        stored_->new_reader(mode));
}

}  // namespace

std::shared_ptr<const Dataset> with_cache(
    std::shared_ptr<const Dataset> dataset, std::shared_ptr<SampleCache> cache,
    std::shared_ptr<CachePeers> peers) {
  return std::make_shared<CachedDataset>(std::move(dataset), std::move(cache),
                                         std::move(peers));
}

}  // namespace penstock
