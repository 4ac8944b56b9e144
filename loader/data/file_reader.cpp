#include "loader/data/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock {
namespace {

constexpr uint64_t kUnit = FileReader::kAlignmentBytes;

uint64_t round_down(uint64_t bytes) { return bytes / kUnit * kUnit; }
uint64_t round_up(uint64_t bytes) { return round_down(bytes + kUnit - 1); }

std::string difference(const FileVersion& then, const FileVersion& now) {
  if (now.device != then.device || now.inode != then.inode) {
    return "another file has this name since it was opened";
  }
  if (now.bytes == then.bytes) return "written to since it was opened";
  return std::to_string(now.bytes) + " bytes now, " +
         std::to_string(then.bytes) + " when it was opened";
}

Error changed(const std::string& path, const FileVersion& then,
              const FileVersion& now) {
  return invalid(path + ": " + difference(then, now) +
                 "; data must not change under a job");
}

}  // namespace

Status FileReader::open_file(const std::string& path, ReadMode mode) {
  const bool is_open = fd_ && is_part_ && mode == mode_ && path == path_;
  if (!is_open) {
    mode_ = mode;
    path_ = path;
    const int direct = mode == ReadMode::kDirect ? O_DIRECT : 0;
    fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | direct));
    if (!fd_ && errno == EINVAL && direct != 0) {
      return Error{Code::kUnavailable, EINVAL,
                   path +
                       ": this file system refuses O_DIRECT; leave --direct "
                       "out, or put the data on another one"};
    }
    if (!fd_) return system_error(errno, path);
  }
  struct stat status {};
  if (fstat(fd_.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  file_ = FileVersion::of(status);
  return Done{};
}

Status FileReader::check_size(uint64_t bytes) const {
  if (bytes <= kMaxReadBytes) return Done{};
  return invalid(path_ + ": " + std::to_string(bytes) +
                 " bytes; allowed: up to 1 GiB");
}

// Called after the read, so that it also detects changes while the caller
// waited for bandwidth.
Status FileReader::check_unchanged() const {
  struct stat status {};
  if (fstat(fd_.get(), &status) != 0) return system_error(errno, path_);
  const FileVersion now = FileVersion::of(status);
  if (now == file_) return Done{};
  return changed(path_, file_, now);
}

Result<uint64_t> FileReader::open(const std::string& path, ReadMode mode) {
  is_part_ = false;
  if (auto opened = open_file(path, mode); !opened) return opened.error();
  if (file_.bytes == 0) return invalid(path + ": empty file");
  if (auto fits = check_size(file_.bytes); !fits) return fits.error();
  offset_ = 0;
  bytes_ = file_.bytes;
  return bytes_;
}

Result<uint64_t> FileReader::open_part(const std::string& path, ReadMode mode,
                                       const Part& part) {
  if (auto opened = open_file(path, mode); !opened) return opened.error();
  is_part_ = true;
  if (file_ != part.file) {
    return changed(path, part.file, file_);
  }
  if (part.bytes == 0) return invalid(path + ": empty part");
  if (auto fits = check_size(part.bytes); !fits) return fits.error();
  offset_ = part.offset;
  bytes_ = part.bytes;
  return bytes_;
}

void FileReader::drop_cached() const {
  // The kernel drops whole pages only.
  const uint64_t begin = round_down(offset_);
  const uint64_t end = round_up(offset_ + bytes_);
  (void)::posix_fadvise(fd_.get(), static_cast<off_t>(begin),
                        static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
}

Status FileReader::reserve(uint64_t bytes) {
  if (bytes <= capacity_bytes_) return Done{};
  buffer_.reset(static_cast<uint8_t*>(std::aligned_alloc(kUnit, bytes)));
  capacity_bytes_ = buffer_ ? bytes : 0;
  if (buffer_) return Done{};
  return Error{Code::kLimit, ENOMEM, path_ + ": no memory to read it"};
}

// Reads from `begin` at least to `end`, or to the file's end, and at most
// `capacity` bytes. Returns the number of bytes.
Result<uint64_t> FileReader::fill(uint64_t begin, uint64_t end,
                                  uint64_t capacity) {
  uint64_t done = 0;
  while (begin + done < end) {
    const ssize_t got =
        ::pread(fd_.get(), buffer_.get() + done, capacity - done,
                static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, path_);
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
    // O_DIRECT cannot continue after a read that ended within a block.
    if (mode_ == ReadMode::kDirect && done % kUnit != 0) break;
  }
  return done;
}

Result<std::span<const uint8_t>> FileReader::read() {
  // O_DIRECT reads whole blocks, even if the file ends within one.
  const bool is_direct = mode_ == ReadMode::kDirect;
  const uint64_t begin = is_direct ? round_down(offset_) : offset_;
  const uint64_t end = offset_ + bytes_;
  const uint64_t wanted = is_direct ? round_up(end) - begin : bytes_;
  auto reserved = reserve(round_up(wanted));
  if (!reserved) return std::move(reserved).error();
  const auto got = fill(begin, end, wanted);
  if (!got) return got.error();
  const uint64_t before = offset_ - begin;
  const uint64_t found = std::min(*got, before + bytes_);
  if (!is_part_) fd_.reset();
  if (is_part_ && found < before + bytes_) {
    return Error{Code::kIo, 0, path_ + ": became shorter while it was read"};
  }
  if (is_part_) {
    if (Status same = check_unchanged(); !same) return std::move(same).error();
  }
  return std::span<const uint8_t>(buffer_.get() + before,
                                  found < before ? 0 : found - before);
}

}  // namespace penstock
