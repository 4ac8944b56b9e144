// load_config(): the only part of the configuration that reads files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/config.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

// The message contains a command for the admin to paste.
Error denied(const std::string& path, const std::string& why,
             const std::string& command) {
  return Error{Code::kPermissionDenied, 0,
               path + ": " + why + "; run: " + command + " " + path};
}

Status check_file(const std::string& path, const struct stat& file) {
  if (!S_ISREG(file.st_mode))
    return invalid(path + ": not a regular file; allowed: a plain text file");
  if (file.st_uid != 0 && file.st_uid != geteuid())
    return denied(path,
                  "owned by user " + std::to_string(file.st_uid) +
                      ", who could change what root does",
                  "chown root");
  if (file.st_mode & (S_IWGRP | S_IWOTH))
    return denied(path, "writable by its group or by others", "chmod go-w");
  return Done{};
}

}  // namespace

Result<Config> load_config(const std::string& path) {
  // O_NONBLOCK: a FIFO in the file's place must not hang the daemon.
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return system_error(errno, path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return system_error(errno, path);
  if (Status status = check_file(path, file); !status)
    return std::move(status).error();
  std::string text;
  const int error = read_whole(fd.get(), kMaxFileBytes, text);
  if (error == EFBIG)
    return Error{Code::kLimit, 0, path + ": over 1 MiB; allowed: 1 MiB"};
  if (error != 0) return system_error(error, path);
  return parse_config(text, path);
}

}  // namespace penstock
