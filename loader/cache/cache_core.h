// Implementation of SampleCache: one process's side of a cache file.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/cache/cache_file.h"
#include "loader/cache/fill_share.h"
#include "loader/cache/memory_watch.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

// Thread-safe. Usable in a forked process, which takes a member number of its
// own.
class CacheCore {
 public:
  using Warn = std::function<void(const std::string& what)>;
  CacheCore(std::unique_ptr<CacheFile> file, FillShare share,
            MemoryWatch::Look look, Warn warn);

  // See SampleCache.
  std::optional<uint64_t> find(uint64_t index) const;
  bool read(uint64_t index, std::span<uint8_t> out, int64_t& label);
  void store(uint64_t index, std::span<const uint8_t> sample, int64_t label);
  void count_miss();

  // read() and store() for requests of other nodes: no hit or miss is counted.
  bool copy(uint64_t index, std::span<uint8_t> out, int64_t& label);
  void put_in(uint64_t index, std::span<const uint8_t> sample, int64_t label);
  // Counts a sample that came from another node's cache.
  void count_peer(uint64_t bytes);
  SampleCacheCounters counters() const;

  CacheFile& file() { return *file_; }
  const CacheFile& file() const { return *file_; }

 private:
  // The exclusive right of this process to store a sample.
  struct Claim {
    uint64_t index = 0;
    SlotWord word;  // of the slot; offset 0 until the claim has a place
  };
  const Membership* own_membership();
  std::optional<Claim> claim(uint64_t index);
  bool is_abandoned(const SlotWord& word, const Membership& own) const;
  bool place(Claim& claim, uint64_t bytes);
  void free_left_place(Claim& claim);
  bool write(const Claim& claim, std::span<const uint8_t> sample,
             int64_t label);
  void publish(const Claim& claim, std::span<const uint8_t> sample,
               int64_t label);
  void abandon(const Claim& claim, uint64_t bytes);
  void drop_damaged(uint64_t index, uint64_t word, uint64_t bytes);
  void count_hit(uint64_t bytes);
  void give_back_memory();
  struct Newest {
    uint64_t begin = 0;  // file offset; they extend to the file's end
    uint64_t samples = 0;
  };
  bool is_own(const SlotWord& word) const;
  Newest newest(uint64_t bytes) const;
  void drop_newest(uint64_t bytes);
  void warn_full(const std::string& why);

  const std::unique_ptr<CacheFile> file_;
  FillShare share_;
  MemoryWatch memory_;
  const Warn warn_;
  std::mutex membership_mutex_;
  std::unique_ptr<Membership> forked_membership_;
  std::atomic<uint64_t> full_until_ns_ = 0;  // pause after a failed write
  std::atomic<bool> has_warned_ = false;     // that the cache is not filled
  std::atomic<bool> has_warned_of_drop_ = false;
  std::atomic<uint64_t> touched_ns_ = 0;
  std::atomic<uint64_t> hits_ = 0;
  std::atomic<uint64_t> hit_bytes_ = 0;
  std::atomic<uint64_t> misses_ = 0;
  std::atomic<uint64_t> peer_ = 0;
  std::atomic<uint64_t> peer_bytes_ = 0;
  std::atomic<uint64_t> damaged_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace penstock
