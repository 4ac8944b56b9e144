#include "link/term_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/admin_file.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "wire/bounds.h"

namespace penstock {
namespace {

constexpr const char* kName = "term";

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
  const auto term = parse_uint(line, 1, bounds::kMaxTerm);
  if (!term) {
    return invalid(
        std::string(kName) + ": " + quoted(line) +
        " is not a term; use --reset-term: other nodes have the newest term");
  }
  return *term;
}

Status save_term(int state_dir_fd, uint64_t term) {
  Status replaced = replace_file({.dir_fd = state_dir_fd,
                                  .name = kName,
                                  .aside = "term.new",
                                  .sync = true},
                                 std::to_string(term) + "\n");
  if (!replaced) return replaced;
  if (::fsync(state_dir_fd) != 0) return system_error(errno, kName);
  return Done{};
}

Status reset_term(int state_dir_fd) {
  if (::unlinkat(state_dir_fd, kName, 0) == 0 || errno == ENOENT) return Done{};
  return system_error(errno, kName);
}

}  // namespace penstock
