// A stage file, opened by one process and mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "loader/cache/cache_folder.h"
#include "loader/cache/membership.h"
#include "loader/staging/stage_layout.h"

namespace penstock {

// What a share prepares.
struct StagedData {
  uint64_t fingerprint = 0;
  std::string prepared;  // for people: the data set, batch, crop, ...
  // Window and buffers are those of whoever made the file.
  StageShape shape;
};

// Thread-safe. What it points at is shared with other processes.
class StageFile {
 public:
  // Joins the share of that name, or makes it. A file that nobody uses any more
  // is made anew.
  // Errors: those of open_cache_folder()
  //         kInvalidArgument  the name is not allowed (as a cache's); the share
  //         prepares something else, or its file is damaged, or no share's
  //         kPermissionDenied  the file is another user's
  //         kLimit  no memory for the window's batches in the tmpfs or in the
  //         job's memory cgroup
  //         kUnavailable  it is being removed for longer than 0.1 s, or as many
  //         processes use it as can; kIo
  [[nodiscard]] static Result<std::unique_ptr<StageFile>> join(
      const CacheOwner& owner, const std::string& name, const StagedData& data);
  ~StageFile();
  StageFile(const StageFile&) = delete;
  StageFile& operator=(const StageFile&) = delete;

  const std::string& path() const { return path_; }
  // The same for all who have opened this file, and hardly for others; not 0.
  uint64_t key() const { return key_; }
  // What everybody may write to is not asked where a place has to be right.
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
  // False: the slot's word is damaged, and names no buffer of the file.
  bool has_buffer(const StageWord& word) const {
    return word.buffer < shape_.buffers;
  }
  uint8_t* buffer(uint32_t i) const {
    return map_ + stage_buffers_offset(shape_) + i * shape_.buffer_bytes;
  }
  // Memory for a buffer; nothing where it has it.
  // Errors: kLimit, with figures
  [[nodiscard]] Status allocate(uint32_t buffer) const;

  // Maps the buffer's pages, many at a time; without it each is mapped when it
  // is first touched, which takes a process of a large window longer.
  void map_in(uint32_t buffer) const;

  // This process's, until leave().
  uint32_t member() const { return member_; }
  uint32_t generation() const { return generation_; }
  // Whether the process that had this number then has ended.
  bool has_ended(uint32_t member, uint32_t generation) const;

  // To be called last: gives the number back, and removes the file if nobody
  // else uses it. Nothing in a forked process.
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

// Of the share of that name.
// Errors: kInvalidArgument  it is not allowed
[[nodiscard]] Result<std::string> stage_file_name(const std::string& name);

// Removes the owner's shares whose jobs were killed, all of them.
void sweep_shares(const CacheOwner& owner);

}  // namespace penstock
