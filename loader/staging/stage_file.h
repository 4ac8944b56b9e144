// One process's open and mapped stage file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "loader/cache/cache_folder.h"
#include "loader/cache/cache_list.h"
#include "loader/cache/membership.h"
#include "loader/staging/stage_layout.h"

namespace penstock {

// What a share prepares, and the memory for it.
struct StagedData {
  uint64_t fingerprint = 0;
  std::string prepared;  // for messages: the data set, batch, crop, ...
  // An existing file keeps its creator's window and buffers.
  StageShape shape;
};

// Thread-safe. The mapped memory is shared with other processes.
class StageFile {
 public:
  // Joins the share of that name, or creates it. A file without users is
  // replaced.
  // Errors: those of open_cache_folder()
  //         kInvalidArgument  the name is not allowed (as a cache's); the share
  //         prepares something else; its file is damaged or not a share
  //         kPermissionDenied  the file belongs to another user
  //         kLimit  no memory for the window's batches in the tmpfs or in the
  //         job's memory cgroup
  //         kUnavailable  for a second the file was being created or removed,
  //         or in use by kMembers processes; kIo
  [[nodiscard]] static Result<std::unique_ptr<StageFile>> join(
      const CacheOwner& owner, const std::string& name, const StagedData& data);
  ~StageFile();
  StageFile(const StageFile&) = delete;
  StageFile& operator=(const StageFile&) = delete;

  const std::string& path() const { return path_; }
  // Hash of the file's identity: equal in all processes that have it open, and
  // almost surely different for other files. Never 0.
  uint64_t key() const { return key_; }
  // This process's checked copy. Every member can write the header's, so that
  // one is not used for addresses.
  const StageShape& shape() const { return shape_; }
  StageHeader& header() const { return *reinterpret_cast<StageHeader*>(map_); }
  // REQUIRES: i < kStageConsumers, < shape().window, < shape().buffers.
  StageConsumer& consumer(uint32_t i) const {
    return reinterpret_cast<StageConsumer*>(map_ + kConsumersOffset)[i];
  }
  StageSlot& slot(uint32_t i) const {
    return reinterpret_cast<StageSlot*>(map_ + kStageSlotsOffset)[i];
  }
  std::atomic<uint64_t>& tag(uint32_t i) const { return writer(i).tag; }
  std::atomic<uint64_t>& progress(uint32_t i) const {
    return writer(i).progress;
  }
  // False: the slot's word is damaged and names no buffer of the file.
  bool has_buffer(const StageWord& word) const {
    return word.buffer < shape_.buffers;
  }
  uint8_t* buffer(uint32_t i) const {
    return map_ + stage_buffers_offset(shape_) + i * shape_.buffer_bytes;
  }
  // Allocates a buffer's memory, if it has none.
  // Errors: kLimit  no memory; the message has the figures
  [[nodiscard]] Status allocate(uint32_t buffer) const;

  // Maps the buffer's pages at once. Otherwise each page faults at its first
  // access, which costs more time, above all with a large window.
  void map_in(uint32_t buffer) const;

  // This process's member number and its generation, until leave().
  uint32_t member() const { return member_; }
  uint32_t generation() const { return generation_; }
  // Whether the process that had this number in this generation has ended.
  bool has_ended(uint32_t member, uint32_t generation) const;

  // Call last: gives the number back, and removes the file if no other process
  // uses it. Does nothing in a forked process.
  void leave();

 private:
  StageFile() = default;
  StageWriter& writer(uint32_t i) const {
    return reinterpret_cast<StageWriter*>(
        map_ + stage_writers_offset(shape_.window))[i];
  }
  MemberTable& members() const {
    return *reinterpret_cast<MemberTable*>(map_ + kMembersOffset);
  }
  Status try_join(const CacheOwner& owner, const StagedData& data);
  Status make(const StagedData& data);
  Status open(const StagedData& data);
  Error cannot_open(int error) const;
  Status check_kind() const;
  Status remove_left_one();
  Status check(const StagedData& data);
  Status map(const StageShape& shape);
  void unmap();
  Status become_member();
  Status allocate_bytes(uint64_t offset, uint64_t bytes,
                        const std::string& what) const;
  Status get_memory();
  Status wait_for_memory();

  UniqueFd folder_;
  UniqueFd fd_;
  std::string file_name_;
  std::string path_;
  uint8_t* map_ = nullptr;
  StageShape shape_;
  std::unique_ptr<std::atomic<bool>[]> is_mapped_in_;  // by buffer
  std::unique_ptr<Membership> membership_;
  uint64_t key_ = 0;
  uint32_t member_ = 0;
  uint32_t generation_ = 0;
};

// File name of the share `name`.
// Errors: kInvalidArgument  the name is not allowed
[[nodiscard]] Result<std::string> stage_file_name(const std::string& name);

// Removes the owner's shares that no living process uses. No file in creation
// can be removed: it has a member before its name.
inline void sweep_shares(const CacheOwner& owner) {
  sweep_caches(owner, kStageFileEnding);
}

}  // namespace penstock
