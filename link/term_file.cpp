#include "link/term_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "common/unique_fd.h"
#include "common/units.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr const char* kName = "term";
constexpr const char* kNewName = "term.new";

Status write_out(int fd, const std::string& text) {
  if (const int error = write_whole(fd, text); error != 0) {
    return system_error(error, kNewName);
  }
  if (::fsync(fd) != 0) return system_error(errno, kNewName);
  return Done{};
}

}  // namespace

Result<uint64_t> load_term(int state_dir_fd) {
  const UniqueFd file(
      ::openat(state_dir_fd, kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return uint64_t{0};
  if (!file) return system_error(errno, kName);
  char text[64];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  if (size < 0) return system_error(errno, kName);
  std::string_view line(text, size_t(size));
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  const auto term = parse_uint(line, 1, UINT64_MAX);
  if (!term) {
    return invalid(
        std::string(kName) + ": " + quoted(line) +
        " is not a term; remove the file: other nodes have the newest term");
  }
  return *term;
}

Status save_term(int state_dir_fd, uint64_t term) {
  const UniqueFd file(
      ::openat(state_dir_fd, kNewName,
               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return system_error(errno, kNewName);
  Status written = write_out(file.get(), std::to_string(term) + "\n");
  if (!written) return written;
  if (::renameat(state_dir_fd, kNewName, state_dir_fd, kName) != 0) {
    return system_error(errno, kName);
  }
  if (::fsync(state_dir_fd) != 0) return system_error(errno, kName);
  return Done{};
}

}  // namespace penstock
