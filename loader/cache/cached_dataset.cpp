// A data set whose samples come out of a cache where they are there.
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "penstock/loader/sample_cache.h"

namespace penstock {
namespace {

class CachedDataset : public Dataset {
 public:
  CachedDataset(std::shared_ptr<const Dataset> stored,
                std::shared_ptr<SampleCache> cache)
      : stored_(std::move(stored)), cache_(std::move(cache)) {}

  uint64_t size() const override { return stored_->size(); }
  int64_t label(uint64_t index) const override { return stored_->label(index); }
  std::string name(uint64_t index) const override {
    return stored_->name(index);
  }
  const std::string& path() const override { return stored_->path(); }
  uint64_t fingerprint() const override { return stored_->fingerprint(); }
  uint64_t tensor_bytes() const override { return stored_->tensor_bytes(); }
  uint64_t cached_samples() const override { return cache_->ready_samples(); }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

  SampleCache& cache() const { return *cache_; }

 private:
  const std::shared_ptr<const Dataset> stored_;
  const std::shared_ptr<SampleCache> cache_;
};

class CachedReader : public SampleReader {
 public:
  CachedReader(SampleCache& cache, std::unique_ptr<SampleReader> stored)
      : cache_(cache), stored_(std::move(stored)) {}

  Result<uint64_t> open(uint64_t index, SampleSource source) override;
  Result<std::span<const uint8_t>> read() override;
  int64_t label() const override { return label_; }
  bool is_cached() const override { return is_cached_; }

 private:
  Result<std::span<const uint8_t>> read_stored();

  SampleCache& cache_;
  const std::unique_ptr<SampleReader> stored_;
  uint64_t index_ = 0;
  SampleSource source_ = SampleSource::kUsual;
  bool is_cached_ = false;
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
  if (!is_cached_) return stored_->open(index, source);
  bytes_ = *bytes;
  return bytes_;
}

Result<std::span<const uint8_t>> CachedReader::read() {
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
  // It left the cache since open().
  is_cached_ = false;
  auto opened = stored_->open(index_, source_);
  if (!opened) return std::move(opened).error();
  return read_stored();
}

Result<std::span<const uint8_t>> CachedReader::read_stored() {
  auto sample = stored_->read();
  label_ = stored_->label();
  if (sample && source_ == SampleSource::kUsual) {
    cache_.store(index_, *sample, label_);
  }
  return sample;
}

std::unique_ptr<SampleReader> CachedDataset::new_reader(ReadMode mode) const {
  return std::make_unique<CachedReader>(*cache_, stored_->new_reader(mode));
}

}  // namespace

std::shared_ptr<const Dataset> with_cache(
    std::shared_ptr<const Dataset> dataset,
    std::shared_ptr<SampleCache> cache) {
  return std::make_shared<CachedDataset>(std::move(dataset), std::move(cache));
}

}  // namespace penstock
