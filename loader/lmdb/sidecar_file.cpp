#include "loader/lmdb/sidecar_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "common/whole_file.h"
#include "loader/lmdb/sidecar.h"

namespace penstock::lmdb {
namespace {

Error cannot_write(int errno_value, const std::string& path) {
  Error error = system_error(errno_value, "cannot write " + path);
  if (errno_value == EACCES || errno_value == EPERM || errno_value == EROFS) {
    error.message += "; its owner can write it, or a copy (cp -p) can have one";
  } else if (errno_value == ENOSPC || errno_value == EDQUOT) {
    error.message += "; make room";
  }
  return error;
}

Status fill(int fd, mode_t mode, std::string_view text,
            const std::string& path) {
  if (const int error = write_whole(fd, text); error != 0) {
    return cannot_write(error, path);
  }
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0) {
    return cannot_write(errno, path);
  }
  return Done{};
}

// Readers would refuse an index of an older state, so none is written.
Status check_unchanged(const Database& database) {
  Result<Snapshot> now = take_snapshot(database.fd());
  if (now && *now == database.snapshot()) return Done{};
  return being_written().wrap(database.path());
}

}  // namespace

Result<uint64_t> write_sidecar(const Database& database) {
  const std::string file = sidecar_path(database.path());
  struct stat status {};
  if (::fstat(database.fd(), &status) != 0) {
    return system_error(errno, database.path());
  }
  const std::string text =
      format_sidecar(database.snapshot(), database.index());
  std::string aside = file + ".XXXXXX";
  const UniqueFd fd(::mkostemp(aside.data(), O_CLOEXEC));
  if (!fd) return cannot_write(errno, file);
  Status done = fill(fd.get(), status.st_mode & 0666, text, file);
  if (done) done = check_unchanged(database);
  if (done && ::rename(aside.c_str(), file.c_str()) != 0) {
    done = cannot_write(errno, file);
  }
  if (done) return text.size();
  ::unlink(aside.c_str());
  return std::move(done).error();
}

}  // namespace penstock::lmdb
