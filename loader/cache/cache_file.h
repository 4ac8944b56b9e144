// A cache file, opened by one process and mapped but for its samples.
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

// Which samples a cache is for.
struct CachedData {
  uint64_t fingerprint = 0;
  uint64_t samples = 0;
  std::string path;     // for people
  uint64_t keep_s = 0;  // the longest that any process names counts
};

// Immutable but for what it points at, which is shared with other processes.
class CacheFile {
 public:
  // Joins the cache of that name, or makes it. A name is another's as soon as
  // its data are others.
  // Errors: those of open_cache_folder() and cache_file_name()
  //         kInvalidArgument  the cache is of other data, or damaged
  //         kLimit  no memory for the index in the tmpfs or in the job's memory
  //         cgroup
  //         kUnavailable  it is being removed for longer than a second, or as
  //         many processes use it as can; kIo
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
  // What everybody may write to is not asked where a place has to be right.
  uint64_t samples() const { return samples_; }
  uint64_t data_offset() const { return map_bytes_; }
  // Whether it can be a sample's.
  bool has_place(uint64_t offset, uint64_t bytes) const;
  // REQUIRES: index < samples().
  Slot& slot(uint64_t index) const {
    return reinterpret_cast<Slot*>(map_ + kSlotsOffset)[index];
  }
  // Of the process that joined, whose number a forked one must not use.
  const Membership& membership() const { return *membership_; }

  // Notes that the cache is in use, for those that look how long it was not.
  void touch() const;
  // To be called last: removes a cache that is not kept, if nobody else uses
  // it. Nothing in a forked process.
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
