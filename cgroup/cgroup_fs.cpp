#include "cgroup/cgroup_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/text_scan.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr int kOpenDir = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    std::string_view part = take_until(path, '/');
    if (part.empty()) continue;
    if (part == "." || part == ".." || part.find('\0') != part.npos) {
      return invalid(
          "a control group's path may not contain \".\", \"..\" "
          "or a NUL byte");
    }
    parts.emplace_back(part);
  }
  return parts;
}

// One openat per component, so that O_NOFOLLOW applies to each.
Result<UniqueFd> walk(int root, const std::vector<std::string>& parts,
                      std::string_view path) {
  UniqueFd at(openat(root, ".", kOpenDir));
  for (const std::string& part : parts) {
    if (!at) break;
    at.reset(openat(at.get(), part.c_str(), kOpenDir));
  }
  if (!at) return system_error(errno, "cannot open " + std::string(path));
  return at;
}

// A path's parent directory and last component.
struct Place {
  UniqueFd dir;
  std::string name;
};

Result<Place> locate(int root, std::string_view path) {
  auto parts = split_path(path);
  if (!parts) return parts.error();
  if (parts->empty()) return invalid("the root of the tree is not a file");
  std::string name = std::move(parts->back());
  parts->pop_back();
  auto dir = walk(root, *parts, path);
  if (!dir) return dir.error();
  return Place{std::move(*dir), std::move(name)};
}

Result<UniqueFd> open_at(int root, std::string_view path, int flags) {
  auto place = locate(root, path);
  if (!place) return place.error();
  UniqueFd fd(openat(place->dir.get(), place->name.c_str(),
                     flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error(errno, "cannot open " + std::string(path));
  return fd;
}

}  // namespace

Result<UniqueFd> CgroupFs::open_root(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error(errno, "cannot open directory " + path);
  return fd;
}

Result<UniqueFd> CgroupFs::open_dir(std::string_view path) const {
  auto parts = split_path(path);
  if (!parts) return parts.error();
  return walk(root_.get(), *parts, path);
}

Result<UniqueFd> CgroupFs::open_file(std::string_view path) const {
  return open_at(root_.get(), path, O_RDONLY);
}

Status CgroupFs::make_dir(std::string_view path) const {
  auto place = locate(root_.get(), path);
  if (!place) return place.error();
  if (mkdirat(place->dir.get(), place->name.c_str(), 0755) == 0) return Done{};
  if (errno != EEXIST) {
    return system_error(errno, "cannot make group " + std::string(path));
  }
  auto found = owner(path);
  if (!found) return std::move(found).error();
  if (*found == ::geteuid()) return Done{};
  return Error{Code::kPermissionDenied, 0,
               "group " + std::string(path) + " belongs to user " +
                   std::to_string(*found) + " and is not used; remove it"};
}

Status CgroupFs::remove_dir(std::string_view path) const {
  auto place = locate(root_.get(), path);
  if (!place) {
    if (place.error().code == Code::kNotFound) return Done{};
    return place.error();
  }
  if (unlinkat(place->dir.get(), place->name.c_str(), AT_REMOVEDIR) != 0 &&
      errno != ENOENT) {
    return system_error(errno, "cannot remove group " + std::string(path));
  }
  return Done{};
}

Result<std::string> CgroupFs::read_file(std::string_view path) const {
  auto fd = open_file(path);
  if (!fd) return fd.error();
  return read_all(fd->get(), kMaxFileBytes, std::string(path));
}

Status CgroupFs::write_file(std::string_view path,
                            std::string_view text) const {
  auto fd = open_at(root_.get(), path, O_WRONLY | O_TRUNC);
  if (!fd) return fd.error();
  ssize_t n = ::write(fd->get(), text.data(), text.size());
  std::string what =
      "cannot write \"" + std::string(text) + "\" to " + std::string(path);
  if (n < 0) return system_error(errno, what);
  if (static_cast<size_t>(n) != text.size()) {
    return Error{Code::kIo, 0, what + ": short write"};
  }
  return Done{};
}

Result<std::vector<std::string>> CgroupFs::list_dirs(
    std::string_view path) const {
  auto dir = open_dir(path);
  if (!dir) return dir.error();
  int fd = openat(dir->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> stream(fd < 0 ? nullptr : fdopendir(fd),
                                             closedir);
  if (!stream) {
    int saved = errno;
    UniqueFd closer(fd);
    return system_error(saved, "cannot list " + std::string(path));
  }
  std::vector<std::string> names;
  // cgroupfs always fills d_type.
  while (const dirent* entry = readdir(stream.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<uid_t> CgroupFs::owner(std::string_view path) const {
  auto dir = open_dir(path);
  if (!dir) return std::move(dir).error();
  struct stat found {};
  if (::fstat(dir->get(), &found) != 0) {
    return system_error(errno, std::string(path));
  }
  return found.st_uid;
}

namespace {

// Extended attributes and locks need more than an O_PATH descriptor.
Result<UniqueFd> open_to_read(const CgroupFs& fs, std::string_view path) {
  auto dir = fs.open_dir(path);
  if (!dir) return dir.error();
  UniqueFd fd(openat(dir->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error(errno, "cannot open " + std::string(path));
  return fd;
}

std::string attribute(const std::string& name) { return "trusted." + name; }

}  // namespace

Result<std::string> CgroupFs::read_mark(std::string_view path,
                                        const std::string& name) const {
  auto fd = open_to_read(*this, path);
  if (!fd) return fd.error();
  std::string text(kMaxMarkBytes, '\0');
  const ssize_t n =
      fgetxattr(fd->get(), attribute(name).c_str(), text.data(), text.size());
  if (n >= 0) {
    text.resize(static_cast<size_t>(n));
    return text;
  }
  if (errno == ENODATA) {
    return Error{Code::kNotFound, ENODATA,
                 std::string(path) + " has no mark " + name};
  }
  return system_error(errno, "mark " + name + " of " + std::string(path));
}

Status CgroupFs::write_mark(std::string_view path, const std::string& name,
                            const std::string& text) const {
  auto fd = open_to_read(*this, path);
  if (!fd) return fd.error();
  if (fsetxattr(fd->get(), attribute(name).c_str(), text.data(), text.size(),
                0) != 0) {
    const char* remedy =
        errno == EPERM ? "CAP_SYS_ADMIN is missing, which no user namespace "
                         "gives: run penstockd outside of containers: "
                       : "";
    return system_error(errno,
                        remedy + ("mark " + name + " of " + std::string(path)));
  }
  return Done{};
}

Status CgroupFs::remove_mark(std::string_view path,
                             const std::string& name) const {
  auto fd = open_to_read(*this, path);
  if (!fd) return fd.error();
  if (fremovexattr(fd->get(), attribute(name).c_str()) != 0 &&
      errno != ENODATA) {
    return system_error(errno, "mark " + name + " of " + std::string(path));
  }
  return Done{};
}

Result<UniqueFd> CgroupFs::try_lock(std::string_view path) const {
  auto fd = open_to_read(*this, path);
  if (fd && ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    Error error = system_error(errno, "lock of " + std::string(path));
    if (errno == EWOULDBLOCK) error.code = Code::kUnavailable;
    return error;
  }
  return fd;
}

Result<WriteWatch> CgroupFs::watch_writes(std::string_view path) const {
  auto file = open_file(path);
  if (!file) return std::move(file).error();
  UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string opened = "/proc/self/fd/" + std::to_string(file->get());
  if (!inotify ||
      ::inotify_add_watch(inotify.get(), opened.c_str(), IN_MODIFY) < 0) {
    return system_error(errno, "watching " + std::string(path));
  }
  return WriteWatch(std::move(inotify));
}

bool WriteWatch::was_written() const {
  char events[4096];
  return ::read(inotify_.get(), events, sizeof events) > 0;
}

bool CgroupFs::exists(std::string_view path) const {
  auto place = locate(root_.get(), path);
  if (!place) return open_dir(path).ok();
  return faccessat(place->dir.get(), place->name.c_str(), F_OK,
                   AT_SYMLINK_NOFOLLOW) == 0;
}

Status CgroupFs::check_writable(std::string_view path) const {
  auto place = locate(root_.get(), path);
  if (!place) return std::move(place).error();
  if (faccessat(place->dir.get(), place->name.c_str(), W_OK,
                AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error(errno, "cannot write " + std::string(path));
  }
  return Done{};
}

Result<std::string> read_all(int fd, size_t max_bytes,
                             const std::string& name) {
  std::string text;
  const int error = read_whole(fd, max_bytes, text);
  if (error == EFBIG) {
    return Error{Code::kLimit, 0,
                 "cannot read " + name + ": more than " +
                     std::to_string(max_bytes) + " bytes"};
  }
  if (error != 0) return system_error(error, "cannot read " + name);
  return text;
}

}  // namespace penstock
