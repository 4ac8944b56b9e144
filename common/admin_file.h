// Opens, reads and replaces files of directories that only the admin can
// change.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Opens a directory; does not follow a symbolic link. what: prefix of error
// messages. owner: -1: the caller.
// Errors: kPermissionDenied  not owned by the owner, or writable by group or
//                            others
//         kNotFound, kIo     cannot be opened
[[nodiscard]] Result<UniqueFd> open_admin_directory(const std::string& path,
                                                    const std::string& what,
                                                    uid_t owner = uid_t(-1));

// Reads a small file; does not follow a symbolic link.
// Errors: kNotFound;  kPermissionDenied  owned by neither root nor the caller,
//         or writable by group or others;  kLimit  over 64 KiB or not a regular
//         file;  kIo
[[nodiscard]] Result<std::string> read_admin_file(const std::string& path);

struct Replacement {
  int dir_fd = -1;
  std::string name;
  std::string aside;   // temporary file in the same directory
  mode_t mode = 0600;  // regardless of the umask
  // A user who may read the file, which stays the caller's: then only these two
  // may read it, and nobody may write. If the file system has no access control
  // lists, the file is given to this user. -1: none.
  uid_t reader = uid_t(-1);
  bool sync = false;  // the file; the caller syncs the directory
};

// The file appears atomically: a new temporary file, renamed. It replaces an
// earlier file, and a left-over temporary one. No link is followed.
// Errors: kPermissionDenied, kNotFound, kIo  name the file and the cause, such
//         as a full disk. No temporary file remains; the earlier file stays.
[[nodiscard]] Status replace_file(const Replacement& file,
                                  std::string_view text);

}  // namespace penstock
