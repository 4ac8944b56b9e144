#include "loader/cache/cache_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "common/cache_files.h"
#include "loader/cache/shared_file.h"
#include "loader/data/memory_room.h"

namespace penstock {
namespace {

Error no_room(int error, const std::string& path) {
  if (error != ENOSPC && error != ENOMEM) return system_error(error, path);
  return {Code::kLimit, error,
          path + ": no memory in the tmpfs for the cache's index"};
}

// The index is never given back, so it may take at most half of the memory
// left. Beyond the cgroup's limit the kernel kills the process.
Status check_memory(uint64_t bytes, const std::string& path) {
  const auto room = group_memory();
  if (!room || bytes <= room->left_bytes / 2) return Done{};
  return Error{Code::kLimit, 0,
               path + ": the cache's index takes " + std::to_string(bytes) +
                   " bytes, more than half of the " +
                   std::to_string(room->left_bytes) +
                   " that the job's memory cgroup leaves"};
}

Status write_header(int fd, const CachedData& data) {
  alignas(CacheHeader) uint8_t bytes[sizeof(CacheHeader)] = {};
  auto* header = new (bytes) CacheHeader{};
  header->magic = kCacheMagic;
  header->fingerprint = data.fingerprint;
  header->samples = data.samples;
  header->data_offset = cache_data_offset(data.samples);
  header->created_s = static_cast<uint64_t>(::time(nullptr));
  header->keep_s = data.keep_s;
  data.path.copy(header->data_set, sizeof header->data_set - 1);
  header->end_offset = header->data_offset;
  if (::pwrite(fd, bytes, sizeof bytes, 0) == ssize_t(sizeof bytes)) {
    return Done{};
  }
  return Error{Code::kIo, errno, "cannot write its header"};
}

// Creates an empty cache; the file gets its name only when it is complete.
// False: another process was first.
Result<bool> make_cache(int folder, const CacheOwner& owner,
                        const std::string& name, const CachedData& data,
                        const std::string& path) {
  const UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
                             owner.group ? 0660 : 0600));
  if (!fd) return no_room(errno, path);
  if (owner.group && ::fchmod(fd.get(), 0660) != 0) {  // undoes the umask
    return system_error(errno, path);
  }
  // Allocates the whole index: a process dies at a mapped page for which there
  // is no memory.
  const uint64_t bytes = cache_data_offset(data.samples);
  if (Status fits = check_memory(bytes, path); !fits) {
    return std::move(fits).error();
  }
  if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    return no_room(errno, path);
  }
  if (Status written = write_header(fd.get(), data); !written) {
    return std::move(written).error().wrap(path);
  }
  const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
  if (::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(),
               AT_SYMLINK_FOLLOW) == 0) {
    return true;
  }
  if (errno == EEXIST) return false;
  return system_error(errno, path);
}

Status check(const CacheHeader& header, const CachedData& data,
             uint64_t file_bytes, const std::string& path) {
  if (header.magic != kCacheMagic) {
    return invalid(path +
                   ": no cache of this version of Penstock; remove it with "
                   "`penstock cache drop`");
  }
  if (header.fingerprint != data.fingerprint ||
      header.samples != data.samples) {
    const size_t length =
        ::strnlen(header.data_set, sizeof header.data_set - 1);
    return invalid(
        path + ": holds other data, " + std::to_string(header.samples) +
        " samples of " + std::string(header.data_set, length) + ", than the " +
        std::to_string(data.samples) + " of " + data.path +
        "; the data may have changed since. Use another name, or remove it "
        "with `penstock cache drop`");
  }
  const uint64_t data_offset = cache_data_offset(data.samples);
  const uint64_t end_offset = header.end_offset;
  if (file_bytes < data_offset || header.data_offset != data_offset ||
      end_offset < data_offset || end_offset >= kMostOffset ||
      end_offset % kPlaceBytes != 0) {
    return invalid(path + ": damaged; remove it with `penstock cache drop`");
  }
  return Done{};
}

// Checks the header by read(), before the file is mapped.
Status check_file(int fd, const CachedData& data, const std::string& path) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return system_error(errno, path);
  alignas(CacheHeader) uint8_t bytes[sizeof(CacheHeader)] = {};
  if (S_ISREG(found.st_mode) &&
      ::pread(fd, bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) {
    std::memset(bytes, 0, sizeof bytes);
  }
  return check(*reinterpret_cast<const CacheHeader*>(bytes), data,
               static_cast<uint64_t>(found.st_size), path);
}

void raise_to(std::atomic<uint64_t>& most, uint64_t value) {
  uint64_t now = most;
  while (now < value && !most.compare_exchange_weak(now, value)) {
  }
}

}  // namespace

Status CacheFile::open(const CacheOwner& owner, const CachedData& data) {
  fd_.reset(::openat(folder_.get(), file_name_.c_str(),
                     O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  while (!fd_ && errno == ENOENT) {
    auto made = make_cache(folder_.get(), owner, file_name_, data, path_);
    if (!made) return std::move(made).error();
    fd_.reset(::openat(folder_.get(), file_name_.c_str(),
                       O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!fd_) return cache_file_error(errno, path_);
  return check_file(fd_.get(), data, path_);
}

Status CacheFile::map(uint64_t samples) {
  unmap();
  const uint64_t bytes = cache_data_offset(samples);
  void* map =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (map == MAP_FAILED) return system_error(errno, path_ + ": cannot map it");
  map_ = static_cast<uint8_t*>(map);
  map_bytes_ = bytes;
  samples_ = samples;
  return Done{};
}

bool CacheFile::has_place(uint64_t offset, uint64_t bytes) const {
  return offset >= data_offset() && offset % kPlaceBytes == 0 &&
         offset < kMostOffset && place_bytes(bytes) <= kMostOffset - offset;
}

void CacheFile::unmap() {
  if (map_ != nullptr) ::munmap(map_, map_bytes_);
  map_ = nullptr;
}

CacheFile::~CacheFile() { unmap(); }

// kUnavailable: another process is removing the file or its folder; try again.
Status CacheFile::try_join(const CacheOwner& owner, const CachedData& data) {
  auto folder = open_cache_folder(owner);
  if (!folder) return std::move(folder).error();
  folder_ = *std::move(folder);
  Status ready = open(owner, data);
  if (ready) ready = map(data.samples);
  if (!ready && ready.error().code == Code::kNotFound) {
    return Error{Code::kUnavailable, ENOENT, path_ + ": is being removed"};
  }
  if (!ready) return ready;
  auto membership = Membership::join(fd(), members());
  // A process that removes the file holds all member numbers.
  if (has_name(fd_.get()) && membership) {
    membership_ = std::make_unique<Membership>(*std::move(membership));
    return Done{};
  }
  if (!has_name(fd_.get()) || membership.error().code == Code::kLimit) {
    return Error{Code::kUnavailable, 0,
                 path_ + ": is being removed, or " + std::to_string(kMembers) +
                     " processes use it already"};
  }
  return std::move(membership).error().wrap(path_);
}

Result<std::unique_ptr<CacheFile>> CacheFile::join(const CacheOwner& owner,
                                                   const std::string& name,
                                                   const CachedData& data) {
  auto file_name = cache_file_name(name);
  if (!file_name) return std::move(file_name).error();
  std::unique_ptr<CacheFile> file(new CacheFile);
  file->file_name_ = *std::move(file_name);
  file->path_ = cache_folder_path(owner) + "/" + file->file_name_;
  Status joined = join_in_a_second([&] { return file->try_join(owner, data); });
  if (!joined) return std::move(joined).error();
  raise_to(file->header().keep_s, data.keep_s);
  file->touch();
  return file;
}

void CacheFile::touch() const { (void)::futimens(fd_.get(), nullptr); }

void CacheFile::leave() {
  if (membership_->pid() != ::getpid()) return;
  touch();
  if (header().keep_s > 0 || !membership_->shut()) return;
  remove_cache_file(folder_.get(), file_name_, fd_.get());
  // Succeeds only if the folder is empty; the next process creates it again.
  (void)::rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

}  // namespace penstock
