#include "loader/staging/stage_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "common/cache_files.h"
#include "loader/cache/fault_point.h"
#include "loader/cache/shared_file.h"
#include "loader/data/fingerprint.h"

namespace penstock {
namespace {

Error try_again(const std::string& path) {
  return {Code::kUnavailable, 0,
          path + ": is being removed, or " + std::to_string(kMembers) +
              " processes use it already; try again, or use another name"};
}

Error no_share(const std::string& path, const std::string& what) {
  return invalid(path + ": is " + what +
                 ", not a share; remove it, or use another name");
}

// Unique as long as the file exists, up to hash collisions.
uint64_t key_of(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return 1;
  Fingerprint key;
  key.add(file.st_dev);
  key.add(file.st_ino);
  return std::max<uint64_t>(key.value(), 1);
}

void write_header(const StageFile& file, const StagedData& data) {
  auto* header = new (&file.header()) StageHeader{};
  header->magic = kStageMagic;
  header->fingerprint = data.fingerprint;
  header->shape = data.shape;
  data.prepared.copy(header->prepared, sizeof header->prepared - 1);
  for (uint32_t i = 0; i < data.shape.window; ++i) {
    file.slot(i).word = StageWord{.buffer = i}.packed();
  }
}

bool is_sane(const StageShape& shape) {
  return shape.window >= 2 && shape.window <= kMostWindow &&
         shape.buffers > shape.window && shape.buffers <= kMostBuffers;
}

}  // namespace

Result<std::string> stage_file_name(const std::string& name) {
  auto cache_name = cache_file_name(name);
  if (!cache_name) {
    return invalid("share name \"" + name +
                   "\"; allowed: 1 to 64 letters, digits, dots, dashes and "
                   "underscores, no dot in front");
  }
  return name + kStageFileEnding;
}

Status StageFile::map(const StageShape& shape) {
  unmap();
  void* map = ::mmap(nullptr, stage_bytes(shape), PROT_READ | PROT_WRITE,
                     MAP_SHARED, fd_.get(), 0);
  if (map == MAP_FAILED && errno == ENOMEM) {
    return Error{Code::kLimit, ENOMEM,
                 path_ + ": " + std::to_string(stage_bytes(shape)) +
                     " bytes are more than this process may map; reduce the "
                     "window or the batch; ulimit -v shows the limit"};
  }
  if (map == MAP_FAILED) return system_error(errno, path_ + ": cannot map it");
  map_ = static_cast<uint8_t*>(map);
  shape_ = shape;
  key_ = key_of(fd_.get());
  is_mapped_in_ = std::make_unique<std::atomic<bool>[]>(shape.buffers);
  return Done{};
}

void StageFile::unmap() {
  if (map_ != nullptr) ::munmap(map_, stage_bytes(shape_));
  map_ = nullptr;
}

StageFile::~StageFile() { unmap(); }

Status StageFile::become_member() {
  auto membership = Membership::join(fd_.get(), members());
  // A process that removes the file holds all member numbers.
  if (!membership && membership.error().code == Code::kLimit) {
    return try_again(path_);
  }
  if (!membership) return std::move(membership).error().wrap(path_);
  membership_ = std::make_unique<Membership>(*std::move(membership));
  member_ = membership_->number();
  generation_ = membership_->generation();
  return Done{};
}

// The file gets its name only when the index is complete and it has a member:
// a file without members is removed as abandoned. Its buffers are allocated
// afterwards, as that takes long.
Status StageFile::make(const StagedData& data) {
  fd_.reset(::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd_) return system_error(errno, path_);
  const StageShape& shape = data.shape;
  if (::ftruncate(fd_.get(), static_cast<off_t>(stage_bytes(shape))) != 0) {
    return system_error(errno, path_);
  }
  Status ready =
      allocate_bytes(0, stage_buffers_offset(shape), "the share's index");
  if (ready) ready = map(shape);
  if (!ready) return ready;
  write_header(*this, data);
  if (Status joined = become_member(); !joined) return joined;
  header().maker = member_;
  header().maker_generation = generation_;
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  if (::linkat(AT_FDCWD, self.c_str(), folder_.get(), file_name_.c_str(),
               AT_SYMLINK_FOLLOW) == 0) {
    fault_point("has a name");
    return get_memory();
  }
  const int error = errno;
  membership_.reset();
  if (error == EEXIST) return try_again(path_);
  return system_error(error, path_);
}

// Checks the header before mapping the file, and then maps it.
Status StageFile::check(const StagedData& data) {
  struct stat found {};
  if (::fstat(fd_.get(), &found) != 0) return system_error(errno, path_);
  alignas(StageHeader) uint8_t bytes[sizeof(StageHeader)] = {};
  if (::pread(fd_.get(), bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) {
    std::memset(bytes, 0, sizeof bytes);
  }
  const auto& header = *reinterpret_cast<const StageHeader*>(bytes);
  if (header.magic != kStageMagic) {
    return invalid(path_ +
                   ": its jobs use another version of Penstock; wait for their "
                   "end, or use another name");
  }
  if (header.fingerprint != data.fingerprint) {
    const size_t length =
        ::strnlen(header.prepared, sizeof header.prepared - 1);
    return invalid(path_ + ": its jobs share " +
                   std::string(header.prepared, length) + "; this job wants " +
                   data.prepared + "; give it another name to share");
  }
  if (!is_sane(header.shape) || header.maker >= kMembers ||
      header.shape.batches_per_epoch != data.shape.batches_per_epoch ||
      header.shape.buffer_bytes != data.shape.buffer_bytes ||
      static_cast<uint64_t>(found.st_size) != stage_bytes(header.shape)) {
    return invalid(path_ + ": damaged; remove it");
  }
  return map(header.shape);
}

Error StageFile::cannot_open(int error) const {
  struct stat found {};
  switch (error) {
    case ELOOP:
      return no_share(path_, "a link");
    case EISDIR:
      return no_share(path_, "a folder");
    case ENXIO:
      return no_share(path_, "a pipe, socket or device");
    case EACCES:
      if (::fstatat(folder_.get(), file_name_.c_str(), &found, 0) != 0) break;
      return {Code::kPermissionDenied, error,
              path_ + ": belongs to user " + std::to_string(found.st_uid) +
                  ", and cannot be shared with; remove it, or use another "
                  "name"};
    default:
      break;
  }
  return system_error(error, path_);
}

// Refuses anything that is not a share, and leaves it unchanged: its owner may
// need it.
Status StageFile::check_kind() const {
  struct stat found {};
  if (::fstat(fd_.get(), &found) != 0) return system_error(errno, path_);
  if (!S_ISREG(found.st_mode)) {
    return no_share(path_, "a pipe, socket or device");
  }
  char text[kStageMagicText.size()] = {};
  if (::pread(fd_.get(), text, sizeof text, 0) != ssize_t(sizeof text) ||
      kStageMagicText != std::string_view(text, sizeof text)) {
    return no_share(path_, "a file that was not made by Penstock");
  }
  return Done{};
}

// Removes a file without members: all its jobs were killed.
Status StageFile::remove_left_one() {
  if (shut_out_cache_members(fd_.get())) {
    remove_cache_file(folder_.get(), file_name_, fd_.get());
  }
  return try_again(path_);
}

Status StageFile::open(const StagedData& data) {
  fd_.reset(::openat(folder_.get(), file_name_.c_str(),
                     O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd_) return cannot_open(errno);
  if (Status share = check_kind(); !share) return share;
  if (!has_members(fd_.get())) return remove_left_one();
  if (Status checked = check(data); !checked) return checked;
  if (Status joined = become_member(); !joined) return joined;
  if (has_name(fd_.get())) return wait_for_memory();
  membership_.reset();
  return try_again(path_);
}

// kUnavailable: another process is creating or removing the file; try again.
Status StageFile::try_join(const CacheOwner& owner, const StagedData& data) {
  auto folder = open_cache_folder(owner);
  if (!folder) return std::move(folder).error();
  folder_ = *std::move(folder);
  Status ready = open(data);
  if (!ready && ready.error().code == Code::kNotFound) {
    ready = make(data);
  }
  if (!ready && ready.error().code == Code::kNotFound) return try_again(path_);
  return ready;
}

Result<std::unique_ptr<StageFile>> StageFile::join(const CacheOwner& owner,
                                                   const std::string& name,
                                                   const StagedData& data) {
  auto file_name = stage_file_name(name);
  if (!file_name) return std::move(file_name).error();
  std::unique_ptr<StageFile> file(new StageFile);
  file->file_name_ = *std::move(file_name);
  file->path_ = cache_folder_path(owner) + "/" + file->file_name_;
  Status joined = join_in_a_second([&] { return file->try_join(owner, data); });
  if (!joined) {
    file->leave();
    return std::move(joined).error();
  }
  return file;
}

bool StageFile::has_ended(uint32_t member, uint32_t generation) const {
  const uint32_t now = members().generations[member];
  return generation != now % SlotWord::kGenerations ||
         !is_member(fd_.get(), member);
}

void StageFile::leave() {
  if (!membership_ || membership_->pid() != ::getpid()) return;
  if (membership_->shut()) {
    remove_cache_file(folder_.get(), file_name_, fd_.get());
    // Succeeds only if the folder is empty; the next process creates it again.
    (void)::rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
  membership_.reset();
}

}  // namespace penstock
