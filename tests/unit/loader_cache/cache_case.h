// A temporary tmpfs folder for caches, removed by the destructor.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/loader/sample_cache.h"
#include "tests/unit/catch.h"

namespace penstock::test {

class CacheCase {
 public:
  CacheCase() {
    char name[] = "/dev/shm/penstock-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    base_ = name;
    ::setenv("PENSTOCK_CACHE_DIR", base_.c_str(), 1);
  }
  ~CacheCase() {
    ::unsetenv("PENSTOCK_CACHE_DIR");
    std::filesystem::remove_all(base_);
  }
  CacheCase(const CacheCase&) = delete;
  CacheCase& operator=(const CacheCase&) = delete;

  const std::string& base() const { return base_; }

  // A cache of that many samples of data 7.
  std::shared_ptr<SampleCache> open(uint64_t samples,
                                    const SampleCacheOptions& options) {
    auto cache = SampleCache::open(samples, 7, "/data", options);
    if (!cache) FAIL(cache.error().message);
    return *cache;
  }

 private:
  std::string base_;
};

// The bytes of sample `index`; their length depends on the index too.
inline std::vector<uint8_t> sample_bytes(uint64_t index, size_t most = 5000) {
  std::vector<uint8_t> bytes(most / 2 + index * 97 % (most / 2));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(index * 31 + i * 7 + i / 256);
  }
  return bytes;
}

// nullopt: a miss.
inline std::optional<std::vector<uint8_t>> sample_in(SampleCache& cache,
                                                     uint64_t index,
                                                     int64_t* label = nullptr) {
  const auto bytes = cache.find(index);
  if (!bytes) return std::nullopt;
  std::vector<uint8_t> out(*bytes);
  int64_t found = 0;
  if (!cache.read(index, out, found)) return std::nullopt;
  if (label != nullptr) *label = found;
  return out;
}

}  // namespace penstock::test
