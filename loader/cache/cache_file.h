// One process's open cache file. All but the samples is mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "loader/cache/cache_folder.h"
#include "loader/cache/cache_layout.h"
#include "loader/cache/membership.h"

namespace penstock {

// The data set of a cache.
struct CachedData {
  uint64_t fingerprint = 0;
  uint64_t samples = 0;
  std::string path;     // for messages
  uint64_t keep_s = 0;  // the cache keeps the maximum over all processes
};

// Immutable, except the mapped memory, which is shared with other processes.
class CacheFile {
 public:
  // Joins the cache of that name, or creates it.
  // Errors: those of open_cache_folder() and cache_file_name()
  //         kInvalidArgument  the cache holds other data, or is damaged
  //         kLimit  no memory for the index in the tmpfs or in the job's memory
  //         cgroup
  //         kUnavailable  for a second the cache was being removed, or in use
  //         by kMembers processes; kIo
  [[nodiscard]] static Result<std::unique_ptr<CacheFile>> join(
      const CacheOwner& owner, const std::string& name, const CachedData& data);
  ~CacheFile();
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  CacheHeader& header() const { return *reinterpret_cast<CacheHeader*>(map_); }
  MemberTable& members() const {
    return *reinterpret_cast<MemberTable*>(map_ + kMembersOffset);
  }
  ShareTable& shares() const {
    return *reinterpret_cast<ShareTable*>(map_ + kSharesOffset);
  }
  // This process's checked copies. Every member can write the header's, so
  // those are not used for addresses.
  uint64_t samples() const { return samples_; }
  uint64_t data_offset() const { return map_bytes_; }
  // Whether a sample of that size may be at that offset.
  bool has_place(uint64_t offset, uint64_t bytes) const;
  // REQUIRES: index < samples().
  Slot& slot(uint64_t index) const {
    return reinterpret_cast<Slot*>(map_ + kSlotsOffset)[index];
  }
  // Of the process that joined. A forked process must not use its number.
  const Membership& membership() const { return *membership_; }

  // Updates the file's modification time, which is the time of its last use.
  void touch() const;
  // Call last: removes the cache if no other process uses it and it is not
  // kept. Does nothing in a forked process.
  void leave();

 private:
  CacheFile() = default;
  Status try_join(const CacheOwner& owner, const CachedData& data);
  Status open(const CacheOwner& owner, const CachedData& data);
  Status map(uint64_t samples);
  void unmap();

  UniqueFd folder_;
  UniqueFd fd_;
  std::string file_name_;
  std::string path_;
  uint8_t* map_ = nullptr;
  uint64_t map_bytes_ = 0;
  uint64_t samples_ = 0;
  std::unique_ptr<Membership> membership_;
};

}  // namespace penstock
