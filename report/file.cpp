#include "report/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "common/unique_fd.h"
#include "common/whole_file.h"
#include "report/json.h"
#include "report/render.h"

namespace penstock {
namespace {

// Removes a temporary file left by a crash of penstockd. O_EXCL and O_NOFOLLOW
// make sure that a link placed there is neither followed nor written.
Result<UniqueFd> create_aside(int dir_fd, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(dir_fd, name.c_str(), kFlags, 0400));
  if (!fd && errno == EEXIST) {
    if (::unlinkat(dir_fd, name.c_str(), 0) != 0) {
      return system_error(errno, "cannot remove the left-over file " + name);
    }
    fd.reset(::openat(dir_fd, name.c_str(), kFlags, 0400));
  }
  if (!fd) return system_error(errno, "cannot create the report " + name);
  return fd;
}

Status fill(int fd, std::string_view text, uid_t uid, const std::string& name) {
  if (const int error = write_whole(fd, text); error != 0) {
    return system_error(error, "cannot write " + name);
  }
  // The umask may have narrowed the mode. The owner changes last, so that no
  // user can read an incomplete file.
  if (::fchmod(fd, 0400) != 0 || ::fchown(fd, uid, -1) != 0) {
    return system_error(
        errno, "cannot give " + name + " to user " + std::to_string(uid));
  }
  if (::fsync(fd) != 0) return system_error(errno, "cannot sync " + name);
  return Done{};
}

Status replace(int dir_fd, const std::string& name, std::string_view text,
               uid_t uid) {
  std::string aside = "." + name + ".new";
  Result<UniqueFd> fd = create_aside(dir_fd, aside);
  if (!fd) return std::move(fd).error();
  Status filled = fill(fd->get(), text, uid, name);
  if (filled && ::renameat(dir_fd, aside.c_str(), dir_fd, name.c_str()) != 0) {
    filled = system_error(errno, "cannot rename " + aside + " to " + name);
  }
  if (!filled) ::unlinkat(dir_fd, aside.c_str(), 0);
  return filled;
}

}  // namespace

Status write_report_file(int dir_fd, const JobReport& report, uid_t uid,
                         penstock_report_format format) {
  if (format == PENSTOCK_REPORT_NONE) return Done{};
  std::string stem = std::to_string(report.job_id);
  Status status = replace(dir_fd, stem + ".json", to_json(report), uid);
  if (status && format != PENSTOCK_REPORT_JSON) {
    status = replace(dir_fd, stem + ".txt", render_text(report), uid);
  }
  if (!status) return status;
  if (::fsync(dir_fd) != 0) {
    return system_error(errno, "cannot sync the report directory");
  }
  return status;
}

}  // namespace penstock
