#include "loader/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace penstock {
namespace {

uint64_t round_up(uint64_t bytes) {
  const uint64_t unit = FileReader::kAlignmentBytes;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<uint64_t> FileReader::open(const std::string& path, ReadMode mode) {
  mode_ = mode;
  const int direct = mode_ == ReadMode::kDirect ? O_DIRECT : 0;
  path_ = path;
  fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | direct));
  if (!fd_ && errno == EINVAL && direct != 0) {
    return Error{Code::kUnavailable, EINVAL,
                 path +
                     ": this file system refuses O_DIRECT; leave --direct "
                     "out, or put the data on another one"};
  }
  if (!fd_) return system_error(errno, path);
  struct stat status {};
  if (fstat(fd_.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  size_bytes_ = static_cast<uint64_t>(status.st_size);
  if (size_bytes_ == 0) return invalid(path + ": empty file");
  if (size_bytes_ > kMaxFileBytes) {
    return invalid(path + ": " + std::to_string(size_bytes_) +
                   " bytes; allowed: up to 1 GiB");
  }
  return size_bytes_;
}

void FileReader::drop_cached() const {
  (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
}

Status FileReader::reserve(uint64_t bytes) {
  if (bytes <= capacity_bytes_) return Done{};
  buffer_.reset(
      static_cast<uint8_t*>(std::aligned_alloc(kAlignmentBytes, bytes)));
  capacity_bytes_ = buffer_ ? bytes : 0;
  if (buffer_) return Done{};
  return Error{Code::kLimit, ENOMEM, path_ + ": no memory to read it"};
}

Result<std::span<const uint8_t>> FileReader::read() {
  // O_DIRECT reads whole blocks, also where the file ends inside one.
  const uint64_t wanted = round_up(size_bytes_);
  if (auto reserved = reserve(wanted); !reserved) return reserved.error();
  uint64_t done = 0;
  while (done < size_bytes_) {
    const ssize_t got = ::pread(fd_.get(), buffer_.get() + done, wanted - done,
                                static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, path_);
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
    // After a read that ends inside a block O_DIRECT cannot go on.
    if (mode_ == ReadMode::kDirect && done % kAlignmentBytes != 0) break;
  }
  fd_.reset();
  return std::span<const uint8_t>(buffer_.get(),
                                  done < size_bytes_ ? done : size_bytes_);
}

}  // namespace penstock
