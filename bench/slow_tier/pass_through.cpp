#include "bench/slow_tier/pass_through.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <utility>

#include "common/clock.h"

namespace penstock {
namespace {

constexpr size_t kWorkers = 8;
// libfuse's own default: changes of the source become visible after 1 s.
constexpr double kCached_s = 1;
// Limit of readahead requests. The kernel's default of 12, instead of the
// latency, would limit several readers.
constexpr unsigned kMaxBackground = 128;

struct DirectoryEntry {
  std::string name;
  struct stat status {};  // from readdir(): number and type only
};
using Directory = std::vector<DirectoryEntry>;

SlowAnswer failure(fuse_req_t request, int error) {
  return {0, [request, error] { fuse_reply_err(request, error); }};
}

// Fills the buffer, or reads to the end of the file. Returns the number of
// bytes, or a negative errno.
ssize_t read_at(int fd, std::vector<char>& buffer, off_t offset) {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::pread(fd, buffer.data() + done, buffer.size() - done,
                                offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Returns 0 or an errno.
int list(int root, const std::string& path, Directory& out) {
  const int fd = ::openat(root, path.c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno;
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd));
  if (!directory) {
    const int error = errno;
    ::close(fd);
    return error;
  }
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    DirectoryEntry& one = out.emplace_back();
    one.name = entry->d_name;
    one.status.st_ino = entry->d_ino;
    one.status.st_mode = DTTOIF(entry->d_type);
  }
  return errno;
}

Directory* directory_of(const fuse_file_info* info) {
  // libfuse's handles are integers.  NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<Directory*>(info->fh);
}

}  // namespace

// libfuse's callbacks. Each leaves its work to the queue.
struct PassThroughOperations {
  static PassThrough& tier(fuse_req_t request) {
    return *static_cast<PassThrough*>(fuse_req_userdata(request));
  }
  static void add(fuse_req_t request, AnswerQueue::Work work) {
    tier(request).answers_->add(monotonic_ns(), std::move(work));
  }
  // Returns 0 or an errno.
  static int status_of(const PassThrough& tier, const std::string& path,
                       struct stat& out) {
    const int done =
        ::fstatat(tier.root_.get(), path.c_str(), &out, AT_SYMLINK_NOFOLLOW);
    return done == 0 ? 0 : errno;
  }

  static void init(void* /*tier*/, fuse_conn_info* connection) {
    connection->max_background = kMaxBackground;
    connection->congestion_threshold = kMaxBackground / 4 * 3;
  }

  static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
    add(request, [request, parent, name = std::string(name)] {
      return look_up(request, parent, name);
    });
  }
  static SlowAnswer look_up(fuse_req_t request, fuse_ino_t parent,
                            const std::string& name) {
    PassThrough& self = tier(request);
    const auto directory = self.inodes_.find(parent);
    if (!directory) return failure(request, ESTALE);
    SourceFile file{directory->path_of(name)};
    fuse_entry_param entry{};
    if (int error = status_of(self, file.path, entry.attr); error != 0) {
      return failure(request, error);
    }
    file.device = entry.attr.st_dev;
    file.inode = entry.attr.st_ino;
    entry.ino = self.inodes_.look_up(file);
    entry.attr_timeout = kCached_s;
    entry.entry_timeout = kCached_s;
    return {0, [request, entry, &self] {
              // The kernel never forgets an entry of an interrupted request.
              if (fuse_reply_entry(request, &entry) != 0)
                self.inodes_.forget(entry.ino, 1);
            }};
  }

  static void forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups) {
    tier(request).inodes_.forget(number, lookups);
    fuse_reply_none(request);
  }
  static void forget_multi(fuse_req_t request, size_t count,
                           fuse_forget_data* forgotten) {
    for (size_t i = 0; i < count; ++i) {
      tier(request).inodes_.forget(forgotten[i].ino, forgotten[i].nlookup);
    }
    fuse_reply_none(request);
  }

  static void getattr(fuse_req_t request, fuse_ino_t number,
                      fuse_file_info* /*info*/) {
    add(request, [request, number] {
      const PassThrough& self = tier(request);
      const auto file = self.inodes_.find(number);
      struct stat status {};
      const int error =
          file ? status_of(self, file->path, status) : int{ESTALE};
      if (error != 0) return failure(request, error);
      return SlowAnswer{0, [request, status] {
                          fuse_reply_attr(request, &status, kCached_s);
                        }};
    });
  }

  static void readlink(fuse_req_t request, fuse_ino_t number) {
    add(request, [request, number] {
      const PassThrough& self = tier(request);
      const auto file = self.inodes_.find(number);
      if (!file) return failure(request, ESTALE);
      char target[PATH_MAX + 1];
      const ssize_t size = ::readlinkat(self.root_.get(), file->path.c_str(),
                                        target, sizeof target - 1);
      if (size < 0) return failure(request, errno);
      return SlowAnswer{
          0, [request, text = std::string(target, static_cast<size_t>(size))] {
            fuse_reply_readlink(request, text.c_str());
          }};
    });
  }

  static void open(fuse_req_t request, fuse_ino_t number,
                   fuse_file_info* info) {
    add(request, [request, number, opened = *info] {
      return open_file(request, number, opened);
    });
  }
  static SlowAnswer open_file(fuse_req_t request, fuse_ino_t number,
                              fuse_file_info info) {
    const PassThrough& self = tier(request);
    const auto file = self.inodes_.find(number);
    if (!file) return failure(request, ESTALE);
    UniqueFd fd(::openat(self.root_.get(), file->path.c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return failure(request, errno);
    // The file was replaced: with ESTALE the kernel looks it up again.
    if (status.st_dev != file->device || status.st_ino != file->inode)
      return failure(request, ESTALE);
    info.direct_io = (info.flags & O_DIRECT) != 0 ? 1 : 0;
    info.keep_cache = 1;  // the kernel drops pages when the file's times change
    info.fh = static_cast<uint64_t>(fd.release());
    return {0, [request, info] {
              if (fuse_reply_open(request, &info) != 0)
                ::close(static_cast<int>(info.fh));
            }};
  }

  static void read(fuse_req_t request, fuse_ino_t /*number*/, size_t size,
                   off_t offset, fuse_file_info* info) {
    add(request, [request, size, offset, fd = static_cast<int>(info->fh)] {
      std::vector<char> buffer(size);
      const ssize_t got = read_at(fd, buffer, offset);
      if (got < 0) return failure(request, static_cast<int>(-got));
      buffer.resize(static_cast<size_t>(got));
      return SlowAnswer{buffer.size(), [request, data = std::move(buffer)] {
                          fuse_reply_buf(request, data.data(), data.size());
                        }};
    });
  }

  static void release(fuse_req_t request, fuse_ino_t /*number*/,
                      fuse_file_info* info) {
    ::close(static_cast<int>(info->fh));
    fuse_reply_err(request, 0);
  }

  static void opendir(fuse_req_t request, fuse_ino_t number,
                      fuse_file_info* info) {
    add(request, [request, number, opened = *info] {
      return open_directory(request, number, opened);
    });
  }
  static SlowAnswer open_directory(fuse_req_t request, fuse_ino_t number,
                                   fuse_file_info info) {
    const PassThrough& self = tier(request);
    const auto file = self.inodes_.find(number);
    auto directory = std::make_unique<Directory>();
    const int error =
        file ? list(self.root_.get(), file->path, *directory) : int{ESTALE};
    if (error != 0) return failure(request, error);
    info.fh = reinterpret_cast<uintptr_t>(directory.release());
    return {0, [request, info] {
              if (fuse_reply_open(request, &info) != 0)
                delete directory_of(&info);
            }};
  }

  static void readdir(fuse_req_t request, fuse_ino_t /*number*/, size_t size,
                      off_t offset, fuse_file_info* info) {
    add(request, [request, size, offset, directory = directory_of(info)] {
      std::vector<char> buffer(size);
      size_t used = 0;
      for (auto at = static_cast<size_t>(offset); at < directory->size();
           ++at) {
        const DirectoryEntry& entry = (*directory)[at];
        const size_t needs = fuse_add_direntry(
            request, buffer.data() + used, size - used, entry.name.c_str(),
            &entry.status, static_cast<off_t>(at) + 1);
        if (needs > size - used) break;
        used += needs;
      }
      buffer.resize(used);
      return SlowAnswer{0, [request, data = std::move(buffer)] {
                          fuse_reply_buf(request, data.data(), data.size());
                        }};
    });
  }

  static void releasedir(fuse_req_t request, fuse_ino_t /*number*/,
                         fuse_file_info* info) {
    delete directory_of(info);
    fuse_reply_err(request, 0);
  }

  static void statfs(fuse_req_t request, fuse_ino_t /*number*/) {
    add(request, [request] {
      struct statvfs status {};
      if (::fstatvfs(tier(request).root_.get(), &status) != 0)
        return failure(request, errno);
      return SlowAnswer{
          0, [request, status] { fuse_reply_statfs(request, &status); }};
    });
  }

  static fuse_lowlevel_ops all() {
    fuse_lowlevel_ops out{};
    out.init = init;
    out.lookup = lookup;
    out.forget = forget;
    out.forget_multi = forget_multi;
    out.getattr = getattr;
    out.readlink = readlink;
    out.open = open;
    out.read = read;
    out.release = release;
    out.opendir = opendir;
    out.readdir = readdir;
    out.releasedir = releasedir;
    out.statfs = statfs;
    return out;
  }
};

const fuse_lowlevel_ops& PassThrough::operations() {
  static const fuse_lowlevel_ops kAll = PassThroughOperations::all();
  return kAll;
}

Result<std::unique_ptr<PassThrough>> PassThrough::open(
    const std::string& source) {
  UniqueFd root(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!root || ::fstat(root.get(), &status) != 0)
    return system_error(errno, source);
  return std::unique_ptr<PassThrough>(
      new PassThrough(std::move(root), {".", status.st_dev, status.st_ino}));
}

void PassThrough::start(const AnswerTimes& times) {
  answers_ = std::make_unique<AnswerQueue>(times, kWorkers);
}

}  // namespace penstock
