#include "tools/penstock/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common/unique_fd.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

Status may_replace(const std::string& path) {
  if (path.empty()) return invalid("the file's name is empty; give one");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Done{};
  if (S_ISDIR(info.st_mode)) {
    return invalid(path + " is a directory; name a file in it");
  }
  if (!S_ISREG(info.st_mode)) {
    return invalid(path +
                   " is not a regular file; name another, or - for standard "
                   "output");
  }
  return Done{};
}

std::string remedy_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return "; create its directory first";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; name a file in a folder that you may write in";
    case ENOSPC:
    case EDQUOT:
      return "; free some space, or name a file on another file system";
    default:
      return "";
  }
}

Error failed(int errno_value, const std::string& path) {
  Error error = system_error(errno_value, "cannot write " + path);
  error.message += remedy_of(errno_value);
  // ENOENT means a bad path here, not missing data of a job.
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
  return error;
}

}  // namespace

Status replace_file(const std::string& path, std::string_view text) {
  if (Status may = may_replace(path); !may) return may;
  // mkostemp() creates the file with mode 0600.
  std::string aside = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(aside.data(), O_CLOEXEC));
  if (!fd) return failed(errno, path);
  int error = write_whole(fd.get(), text);
  if (error == 0 &&
      (::fsync(fd.get()) != 0 || ::rename(aside.c_str(), path.c_str()) != 0)) {
    error = errno;
  }
  if (error == 0) return Done{};
  ::unlink(aside.c_str());
  return failed(error, path);
}

}  // namespace penstock
